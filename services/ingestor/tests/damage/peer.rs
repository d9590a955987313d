//! A node that answers badly over the peer protocol.

use super::node::{Answer, Node, Script, handshake, message, new_peak, respond_blocks};
use super::support::{Built, TWICE, chain, ingest, simulated};
use chia_protocol::{
    Bytes32, Message, NewPeak, ProtocolMessageTypes, RejectBlock, RejectBlocks, RespondBlocks,
};
use chia_traits::Streamable;
use mojoscan_domain::Network;
use mojoscan_ingestor::source::peer::Peer;
use mojoscan_pipeline::{BlockSource, SourceError};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Does the same with every request.
fn always(answer: impl Fn(&Message) -> Answer + Send + Sync + 'static) -> Script<Message> {
    Arc::new(move |_, asked| answer(asked))
}

fn good() -> Script<Message> {
    always(|_| Answer::Good)
}

fn peer(node: &Node) -> Peer {
    Peer::new(node.address.clone(), Network::Simulator0).unwrap()
}

fn unavailable<T: std::fmt::Debug>(found: Result<T, SourceError>) -> String {
    match found {
        Err(SourceError::Unavailable(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

/// A frame of a websocket that says it has this many bytes, and the first of them.
fn begun(length: u64, first: &[u8]) -> Vec<u8> {
    [&[0x82, 127][..], &length.to_be_bytes(), first].concat()
}

/// A message with garbage for its content.
fn garbled(kind: ProtocolMessageTypes, id: Option<u16>, content: &[u8]) -> Answer {
    let message = Message { msg_type: kind, id, data: content.to_vec().into() };
    Answer::Frame(message.to_bytes().unwrap())
}

/// A run of blocks, one of which has another byte somewhere.
fn changed(chain: &[Built], height: usize, at: usize) -> Vec<Built> {
    let mut blocks = chain.to_vec();
    blocks[height].bytes[at] ^= 0x11;
    blocks
}

#[tokio::test]
async fn bad_answers_are_errors_and_nothing_of_them_is_published() {
    let chain = simulated();
    let fork = super::support::chain(Network::Simulator0, 6, 9);
    let (first, forked) = (chain.clone(), [&chain[..3], &fork[3..]].concat());
    let (short, high) = (chain[..3].to_vec(), chain[1..].to_vec());
    let reversed: Vec<Built> = chain.iter().rev().cloned().collect();
    let tip = [&chain[..5], &fork[5..]].concat();
    let run =
        |blocks: Vec<Built>| always(move |asked| Answer::Frame(respond_blocks(asked.id, 0, 5, &blocks)));
    let lost = "the connection was lost";
    let cases: Vec<(&str, &str, Script<Message>)> = vec![
        ("garbage instead of a message", lost, always(|_| Answer::Frame(vec![0xee; 100]))),
        ("an empty message", lost, always(|_| Answer::Frame(vec![]))),
        ("garbage below messages", lost, always(|_| Answer::Raw(vec![0xff; 64]))),
        ("a message of 200 MiB", lost, always(|_| Answer::Raw(begun(200 << 20, &[7; 999])))),
        ("half a message", lost, always(|_| Answer::Cut(begun(5_000, &[7; 999])))),
        ("the end of the connection", lost, always(|_| Answer::Cut(vec![]))),
        ("blocks that are garbage", "sent unreadable blocks", {
            always(|asked| garbled(ProtocolMessageTypes::RespondBlocks, asked.id, &[0xab; 500]))
        }),
        ("blocks without content", "sent unreadable blocks", {
            always(|asked| garbled(ProtocolMessageTypes::RespondBlocks, asked.id, &[]))
        }),
        ("blocks that end in the middle", "sent unreadable blocks", {
            always(move |asked| {
                let whole = respond_blocks(asked.id, 0, 5, &first);
                let data = Message::from_bytes(&whole).unwrap().data;
                garbled(ProtocolMessageTypes::RespondBlocks, asked.id, &data.as_ref()[..data.len() - 9])
            })
        }),
        ("another kind of answer", "answered RejectBlock", {
            always(|asked| Answer::Frame(message(asked.id, &RejectBlock::new(0))))
        }),
        ("no blocks", "sent other blocks", run(vec![])),
        ("too few blocks", "sent other blocks", run(short)),
        ("blocks of other heights", "sent other blocks", run(high)),
        ("blocks in another order", "sent other blocks", run(reversed)),
        ("blocks that do not link", "does not stand on the one before", run(forked)),
        ("a tip it has not announced", "does not stand on the one before", run(tip)),
        ("a refusal", "does not have blocks 0 to 5", {
            always(|asked| Answer::Frame(message(asked.id, &RejectBlocks::new(0, 5))))
        }),
    ];
    for (what, expected, script) in cases {
        let node = Node::peer(&chain, Answer::Good, script).await;
        let outcome = ingest(peer(&node), Network::Simulator0, TWICE, chain[5].id).await;
        assert!(outcome.said().contains(expected), "{what}: {}", outcome.said());
        assert_eq!(outcome.ever, [], "{what}");
        // it may go better the next time, so it was asked again, and not in a hurry
        let asked = node.asked.load(Ordering::SeqCst);
        assert!((2..=4).contains(&asked), "{what}: asked {asked} times");
    }
}

#[tokio::test]
async fn blocks_that_do_not_decode_end_the_ingestor() {
    let chain = simulated();
    let mainnet = super::support::chain(Network::Mainnet, 6, 0);
    let generator = Built { bytes: spoil_generator(&chain[2]), ..chain[2].clone() };
    let mut spoiled = chain.clone();
    spoiled[2] = generator;
    for (expected, blocks) in [("is not of simulator0", mainnet), ("block 2", spoiled)] {
        let served = blocks.clone();
        let script = always(move |asked| Answer::Frame(respond_blocks(asked.id, 0, 5, &served)));
        let node = Node::peer(&chain, Answer::Good, script).await;
        let outcome = ingest(peer(&node), Network::Simulator0, TWICE, chain[5].id).await;
        assert!(outcome.said().contains(expected), "{}", outcome.said());
        assert_eq!(outcome.ever, []);
        let times = if expected == "block 2" { 2 } else { 1 };
        assert_eq!(node.asked.load(Ordering::SeqCst), times, "asking again does not help");
    }
}

/// The block with another byte in the middle of its generator, where the memo stands.
fn spoil_generator(built: &Built) -> Vec<u8> {
    let at = built.bytes.windows(3).position(|window| window == [0x82, b'h', b'i']).unwrap();
    changed(std::slice::from_ref(built), 0, at + 1)[0].bytes.clone()
}

#[tokio::test]
async fn a_node_that_recovers_is_followed() {
    let chain = simulated();
    let answers = [
        Answer::Cut(vec![]),
        Answer::Frame(vec![0xee; 100]),
        Answer::Frame(vec![]),
        Answer::Raw(begun(200 << 20, &[])),
    ];
    let script: Script<Message> = Arc::new(move |nth, _| answers.get(nth).cloned().unwrap_or(Answer::Good));
    let node = Node::peer(&chain, Answer::Good, script).await;
    let outcome = ingest(peer(&node), Network::Simulator0, Duration::from_secs(60), chain[5].id).await;
    assert_eq!((outcome.error, outcome.published.len()), (None, 6));
}

#[tokio::test]
async fn what_is_no_node_is_not_followed() {
    let chain = simulated();
    let silent_after = Duration::from_secs(1);
    let doors = [
        ("peer", Node::saying(b"SSH-2.0-OpenSSH_9.2\r\n").await),
        ("peer", Node::saying(b"HTTP/1.1 400 Bad Request\r\n\r\n").await),
        ("did not shake hands", Node::peer(&chain, Answer::Frame(new_peak(&chain)), good()).await),
        ("no handshake", Node::peer(&chain, Answer::Frame(vec![0xee; 100]), good()).await),
        ("no handshake", Node::peer(&chain, Answer::Cut(vec![]), good()).await),
        ("no handshake", Node::peer(&chain, Answer::Raw(begun(200 << 20, &[])), good()).await),
        ("peer", Node::peer(&chain, garbled(ProtocolMessageTypes::Handshake, None, &[1; 9]), good()).await),
    ];
    for (expected, node) in doors {
        let found = tokio::time::timeout(silent_after * 10, peer(&node).peak()).await.unwrap();
        let reason = unavailable(found);
        assert!(reason.contains(expected) && reason.contains(&node.address), "{reason}");
        let outcome = ingest(peer(&node), Network::Simulator0, TWICE, chain[5].id).await;
        assert!(outcome.error.is_some());
        assert_eq!(outcome.ever, []);
    }
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let nobody = Peer::new(nobody, Network::Simulator0).unwrap();
    assert!(unavailable(nobody.peak().await).contains("refused"));
}

#[tokio::test]
async fn a_node_of_another_network_is_refused_for_good() {
    let chain = simulated();
    let node = Node::peer(&chain, Answer::Frame(handshake("mainnet")), good()).await;
    let outcome = ingest(peer(&node), Network::Simulator0, Duration::from_secs(60), chain[5].id).await;
    assert!(outcome.said().contains("is on mainnet, but --network says simulator0"), "{}", outcome.said());
    assert_eq!(outcome.ever, []);
}

#[tokio::test]
async fn a_peak_that_cannot_be_read_ends_the_connection() {
    let chain = simulated();
    let script = always(|_| garbled(ProtocolMessageTypes::NewPeak, None, &[3; 7]));
    let node = Node::peer(&chain, Answer::Good, script).await;
    let source = peer(&node);
    assert_eq!(source.peak().await.unwrap().block, chain[5].id);
    assert!(unavailable(source.find_id(0).await).contains("the connection was lost"));
    // and another is made
    assert_eq!(source.peak().await.unwrap().block, chain[5].id);
}

#[tokio::test]
async fn other_blocks_than_asked_for_by_height_are_refused() {
    let chain = simulated();
    let block = |height: usize| {
        let bytes = chain[height].bytes.clone();
        always(move |asked| garbled(ProtocolMessageTypes::RespondBlock, asked.id, &bytes))
    };
    let source = Node::peer(&chain, Answer::Good, block(3)).await;
    assert_eq!(peer(&source).find_id(3).await, Ok(Some(chain[3].id)));
    assert!(unavailable(peer(&source).find_id(2).await).contains("sent another block"));
    let cases: [(&str, Script<Message>); 3] = [
        ("unreadable block", always(|asked| garbled(ProtocolMessageTypes::RespondBlock, asked.id, &[9; 9]))),
        ("answered RejectBlocks", always(|asked| Answer::Frame(message(asked.id, &RejectBlocks::new(0, 1))))),
        ("answered RespondBlocks", {
            always(|asked| Answer::Frame(message(asked.id, &RespondBlocks::new(0, 0, vec![]))))
        }),
    ];
    for (expected, script) in cases {
        let node = Node::peer(&chain, Answer::Good, script).await;
        let reason = unavailable(peer(&node).find_id(2).await);
        assert!(reason.contains(expected), "{reason}");
    }
    let reject = always(|asked| Answer::Frame(message(asked.id, &RejectBlock::new(2))));
    let node = Node::peer(&chain, Answer::Good, reject).await;
    assert_eq!(peer(&node).find_id(2).await, Ok(None));
}

/// Answers that come late, twice or to nobody do no harm.
#[tokio::test]
async fn messages_that_nobody_asked_for_are_passed_over() {
    let chain = simulated();
    let stray = chain.clone();
    let script: Script<Message> = Arc::new(move |_, asked| {
        let other = asked.id.map(|id| id + 1000);
        let frames = [
            respond_blocks(other, 0, 5, &stray[..2]),
            respond_blocks(None, 0, 5, &[]),
            garble(other),
            respond_blocks(asked.id, 0, 5, &stray),
            respond_blocks(asked.id, 0, 5, &[]),
        ];
        Answer::Raw(frames.iter().flat_map(|frame| begun(frame.len() as u64, frame)).collect())
    });
    let node = Node::peer(&chain, Answer::Good, script).await;
    let outcome = ingest(peer(&node), Network::Simulator0, TWICE, chain[5].id).await;
    assert_eq!((outcome.error, outcome.published.len()), (None, 6));
}

fn garble(id: Option<u16>) -> Vec<u8> {
    Message { msg_type: ProtocolMessageTypes::RespondPeers, id, data: vec![5; 50].into() }.to_bytes().unwrap()
}

/// A peak far above what the node has: it is asked, and refuses.
#[tokio::test]
async fn a_peak_that_the_node_does_not_have_is_not_believed() {
    let chain = simulated();
    let told = NewPeak::new(Bytes32::new([7; 32]), 4_000_000, 9, 0, Bytes32::default());
    let greeting = [handshake("simulator0"), message(None, &told)];
    let greeting = greeting.iter().flat_map(|frame| begun(frame.len() as u64, frame)).collect();
    let node = Node::peer(&chain, Answer::Raw(greeting), good()).await;
    let outcome = ingest(peer(&node), Network::Simulator0, TWICE, chain[5].id).await;
    assert!(outcome.said().contains("does not have blocks 0 to 31"), "{}", outcome.said());
    assert_eq!(outcome.ever, []);
}

/// Time is sped up as soon as the node is silent.
#[tokio::test]
async fn silence_has_a_limit() {
    let chain = simulated();
    let node = Node::peer(&chain, Answer::Good, always(|_| Answer::Silence)).await;
    let connected = async || {
        tokio::time::resume();
        let source = peer(&node);
        source.peak().await.unwrap();
        tokio::time::pause();
        source
    };
    tokio::time::pause();
    assert!(unavailable(connected().await.blocks(0, 5).await).contains("no answer in time"));
    assert!(unavailable(connected().await.find_id(1).await).contains("no answer in time"));
    // a quiet chain and a dead connection look alike, so the node is asked something
    let quiet = connected().await.changed_peak(chain[5].id, Duration::from_secs(10)).await;
    assert!(unavailable(quiet).contains("no answer in time"));
    let outcome = ingest(connected().await, Network::Simulator0, Duration::ZERO, chain[5].id).await;
    assert!(outcome.said().contains("no answer in time"), "{}", outcome.said());
    assert_eq!(outcome.ever, []);
}

/// What a connection told of the peak counts no more once it is silent: nothing is heard of the chain then.
#[tokio::test]
async fn a_connection_that_falls_silent_is_left() {
    let chain = simulated();
    let node = Node::peer(&chain, Answer::Good, always(|_| Answer::Silence)).await;
    let source = peer(&node);
    let peak = source.peak().await.unwrap();
    assert_eq!(node.connections.load(Ordering::SeqCst), 1);
    tokio::time::pause();
    unavailable(source.changed_peak(peak.block, Duration::from_secs(10)).await);
    tokio::time::resume();
    assert_eq!(source.peak().await.unwrap().block, peak.block);
    assert_eq!(node.connections.load(Ordering::SeqCst), 2);
}

/// It may have been asked too much: what looks like this machine may be a port that leads elsewhere.
#[tokio::test]
async fn a_node_that_hangs_up_is_asked_less_often() {
    let chain = simulated();
    let script: Script<Message> =
        Arc::new(|nth, _| if nth == 0 { Answer::Cut(vec![]) } else { Answer::Good });
    let node = Node::peer(&chain, Answer::Good, script).await;
    let source = peer(&node);
    unavailable(source.find_id(0).await);
    let begun = Instant::now();
    for height in 0..4 {
        assert_eq!(source.find_id(height).await, Ok(Some(chain[height as usize].id)));
    }
    // 200 a minute at most, the first at once
    assert!(begun.elapsed() >= Duration::from_millis(900), "{:?}", begun.elapsed());
}

/// A node that syncs tells its peak to who connects, and then announces none until it is done.
#[tokio::test]
async fn a_node_that_announces_nothing_is_followed() {
    let chain = simulated();
    let short = chain[..3].to_vec();
    let greeting = move |number| {
        let frames = [handshake("simulator0"), new_peak(&short)];
        let told = Answer::Raw(frames.iter().flat_map(|frame| begun(frame.len() as u64, frame)).collect());
        if number == 0 { told } else { Answer::Good }
    };
    let node = Node::greeting(&chain, greeting, good()).await;
    let outcome = ingest(peer(&node), Network::Simulator0, TWICE, chain[5].id).await;
    assert_eq!((outcome.error, outcome.published.len()), (None, 6));
}

#[tokio::test]
async fn silence_at_the_door_has_a_limit() {
    let chain = simulated();
    let node = Node::peer(&chain, Answer::Silence, good()).await;
    tokio::time::pause();
    assert!(unavailable(peer(&node).peak().await).contains("no handshake in time"));
    // it shakes hands, and tells no peak
    tokio::time::resume();
    let node = Node::peer(&chain, Answer::Frame(handshake("simulator0")), good()).await;
    let source = peer(&node);
    assert_eq!(source.find_id(4).await, Ok(Some(chain[4].id)));
    tokio::time::pause();
    assert!(unavailable(source.peak().await).contains("has told no peak"));
}

/// A reorg between the announcement of a peak and the request for its blocks.
#[tokio::test]
async fn a_chain_that_changed_meanwhile_is_followed() {
    let (old, new) = (simulated(), chain(Network::Simulator0, 7, 5));
    // the node has announced the old peak, and already has the new chain
    let greeting = [handshake("simulator0"), new_peak(&old)];
    let greeting: Vec<u8> = greeting.iter().flat_map(|frame| begun(frame.len() as u64, frame)).collect();
    let (served, told) = (new.clone(), new_peak(&new));
    let script: Script<Message> = Arc::new(move |nth, asked| {
        if nth > 0 {
            return Answer::Good;
        }
        let frames = [respond_blocks(asked.id, 0, 5, &served[..6]), told.clone()];
        Answer::Raw(frames.iter().flat_map(|frame| begun(frame.len() as u64, frame)).collect())
    });
    let node = Node::peer(&new, Answer::Raw(greeting), script).await;
    let outcome = ingest(peer(&node), Network::Simulator0, Duration::from_secs(60), new[6].id).await;
    assert_eq!((outcome.error, outcome.published.len()), (None, 7));
}

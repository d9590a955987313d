//! What goes wrong around a store: it cannot be reached, is not what it should be, or stops in its tracks.

use crate::conformance::chain::Block;
use crate::conformance::subject::{Calls, Subject};
use crate::crashes::{Commit, DEEP, rng};
use crate::keyspace::{Keyspace, fresh, options};
use crate::{address, conformance::chain::owners};
use chia_ssl::{CHIA_CA_CRT, ChiaCertificate};
use mojoscan_address::store::scylla::{SCHEMA, ScyllaAddressOptions, ScyllaAddressStore};
use mojoscan_address::store::{AddressStore, ViewError};
use mojoscan_engines::scylla::{Copies, Cql, CqlConfig, Schema, migrate};
use mojoscan_pipeline::{Store, StoreError};
use mojoscan_tests::engines::{Cassandra, free_port};
use mojoscan_tests::wait;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How soon it must be said that a store cannot be used.
const SOON: Duration = Duration::from_secs(15);
/// How soon a request must be given up.
const GIVEN_UP: Duration = Duration::from_secs(10);

/// Why a store cannot be opened: soon, in one line, and with these words.
async fn refused(config: &CqlConfig, options: &ScyllaAddressOptions, words: &[&str]) {
    let begun = Instant::now();
    let opened = async {
        let cql = Cql::connect(config).await?;
        ScyllaAddressStore::open(&cql, options).await
    };
    let Err(StoreError::Broken(why) | StoreError::Unavailable(why)) = opened.await.map(drop) else {
        panic!("it was opened where {words:?} should have been said");
    };
    eprintln!("after {:?}: {why}", begun.elapsed());
    assert!(begun.elapsed() < SOON, "{why}: after {:?}", begun.elapsed());
    assert!(!why.contains('\n'), "{why}");
    for word in words {
        assert!(why.contains(word), "{why}: without {word}");
    }
}

pub(crate) async fn unusable() {
    let plain = options(DEEP);
    let nobody = format!("127.0.0.1:{}", free_port());
    refused(&fresh(&nobody), &plain, &[&nobody]).await;
    // takes connections, and says nothing
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    refused(&fresh(&silent), &plain, &[&silent]).await;
    refused(&fresh("no-such-host.invalid:9042"), &plain, &["no-such-host.invalid"]).await;

    let missing = fresh(&address());
    refused(&missing, &plain, &[&missing.keyspace, "mojoscan migrate"]).await;
    migrate(&missing, Copies::Usual, &[]).await.unwrap();
    refused(&missing, &plain, &[&missing.keyspace, "address tables", "mojoscan migrate"]).await;

    let keyspace = Keyspace::make(&address()).await;
    drop(keyspace.open(DEEP).await);
    let (name, config) = (keyspace.config.keyspace.clone(), keyspace.config.clone());
    let other = ScyllaAddressOptions { network: "mainnet".to_owned(), ..plain.clone() };
    refused(&config, &other, &[&name, "network = simulator0", "mainnet", "another keyspace"]).await;
    let other = ScyllaAddressOptions { log: "another log".to_owned(), ..plain.clone() };
    refused(&config, &other, &[&name, "log = a log", "another log", "another keyspace"]).await;
    let other = ScyllaAddressOptions { partitions: 4, ..plain.clone() };
    refused(&config, &other, &[&name, "partitions = 3", "4"]).await;
    let other = ScyllaAddressOptions { dust_below: 1, ..plain.clone() };
    refused(&config, &other, &[&name, "dust_below = 10000"]).await;
    // the undo depth may change
    drop(keyspace.open(DEEP + 1).await);
    keyspace.drop().await;
}

/// A cluster that speaks TLS, and asks for a certificate and a password.
pub(crate) async fn login() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (certificate, authority) = (path("node.pem"), path("clients.pem"));
    let keytool = |store: &Path, arguments: &[&str]| {
        let fixed = ["-storepass", "changeit", "-storetype", "PKCS12", "-noprompt", "-keystore"];
        let made = Command::new("keytool").args(arguments).args(fixed).arg(store).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
    };
    let make = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1"];
    keytool(&path("node.p12"), &make);
    keytool(&path("node.p12"), &["-exportcert", "-rfc", "-file", certificate.to_str().unwrap()]);
    fs::write(&authority, CHIA_CA_CRT).unwrap();
    keytool(&path("clients.p12"), &["-importcert", "-file", authority.to_str().unwrap()]);
    let cassandra = Cassandra::start_with(&format!(
        "authenticator: PasswordAuthenticator\n\
         authorizer: CassandraAuthorizer\n\
         client_encryption_options:\n  \
           enabled: true\n  \
           optional: true\n  \
           require_client_auth: true\n  \
           store_type: PKCS12\n  \
           keystore: {}\n  \
           keystore_password: changeit\n  \
           truststore: {}\n  \
           truststore_password: changeit\n",
        path("node.p12").display(),
        path("clients.p12").display(),
    ))
    .await;
    let mut config = fresh(&cassandra.address());
    refused(&config, &options(DEEP), &[&cassandra.address(), "--cql-user"]).await;
    config.cql_ca = Some(certificate);
    config.cql_user = Some("cassandra".to_owned());
    config.cql_password = Some("wrong".parse().unwrap());
    refused(&config, &options(DEEP), &[&cassandra.address(), "ertificate"]).await;
    let known = ChiaCertificate::generate().unwrap();
    fs::write(path("client.pem"), known.cert_pem).unwrap();
    fs::write(path("client.key"), known.key_pem).unwrap();
    config.cql_certificate = Some(path("client.pem"));
    config.cql_key = Some(path("client.key"));
    refused(&config, &options(DEEP), &[&cassandra.address(), "login", "cassandra"]).await;
    config.cql_password = Some("cassandra".parse().unwrap());
    // the first user is made a moment after the node takes clients
    wait::until("the user", async || migrate(&config, Copies::Usual, &[SCHEMA]).await.ok()).await;
    let keyspace = Keyspace { config: config.clone() };
    let mut subject = Subject::new(keyspace.open(DEEP).await);
    subject.grow(3, &mut rng()).await;
    subject.check().await;
    // certificates of somebody else
    let stranger = path("stranger.pem");
    fs::write(&stranger, "").unwrap();
    config.cql_ca = Some(stranger);
    refused(&config, &options(DEEP), &["--cql-ca", "stranger.pem"]).await;
}

/// While the cluster stands still, writers and readers are told so; when it goes on, so do they.
pub(crate) async fn paused() {
    let mut cassandra = Cassandra::start().await;
    let mut keyspace = Keyspace::make(&cassandra.address()).await;
    keyspace.config.cql_timeout_ms = 500;
    let rng = &mut rng();
    let mut subject = Subject::new(keyspace.open(DEEP).await);
    subject.grow(5, rng).await;
    let first = subject.chain.blocks.len();
    subject.chain.grow(rng);
    let blocks: Vec<Block> = subject.chain.blocks[first..].to_vec();
    let commits = Commit::of(&subject, &blocks);
    for killed in [false, true] {
        if killed {
            cassandra.kill();
        } else {
            cassandra.pause();
        }
        let begun = Instant::now();
        for commit in &commits {
            let refused = commit.run(&subject.store).await;
            assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        }
        for owner in owners() {
            let refused = subject.store.view(subject.store.partition_of(owner), None).await.map(drop);
            assert!(matches!(refused, Err(ViewError::Store(StoreError::Unavailable(_)))), "{refused:?}");
        }
        assert!(begun.elapsed() < GIVEN_UP * 3, "given up after {:?}", begun.elapsed());
        if killed {
            cassandra.restart().await;
        } else {
            cassandra.resume();
        }
        wait::until("the store", async || subject.store.position(0).await.ok()).await;
    }
    wait::until("the commit", async || {
        for commit in &commits {
            commit.run(&subject.store).await.ok()?;
        }
        Some(())
    })
    .await;
    subject.commit(Calls::Once, &blocks).await;
    subject.check().await;
}

/// A keyspace that is there keeps what it keeps, and whoever asks for more is told.
async fn other_copies(config: &CqlConfig) {
    assert_eq!(migrate(config, Copies::Made(2), &[SCHEMA]).await, Ok(0));
    let refused = migrate(config, Copies::Exactly(2), &[SCHEMA]).await;
    assert!(matches!(&refused, Err(StoreError::Broken(why)) if why.contains("than 2: 1 in ")), "{refused:?}");
}

/// Two at once, and twice.
pub(crate) async fn migrations() {
    let config = fresh(&address());
    let both = futures::join!(
        migrate(&config, Copies::Usual, &[SCHEMA]),
        migrate(&config, Copies::Usual, &[SCHEMA]),
        migrate(&config, Copies::Exactly(1), &[SCHEMA])
    );
    assert!((1..=3).contains(&(both.0.unwrap() + both.1.unwrap() + both.2.unwrap())));
    assert_eq!(migrate(&config, Copies::Usual, &[SCHEMA]).await, Ok(0));
    other_copies(&config).await;
    let keyspace = Keyspace { config: config.clone() };
    let mut subject = Subject::new(keyspace.open(DEEP).await);
    subject.grow(2, &mut rng()).await;
    subject.check().await;
    // rows stay, and so does what was applied
    assert_eq!(migrate(&config, Copies::Usual, &[SCHEMA]).await, Ok(0));
    subject.check().await;
    let changed = Schema {
        projection: "address",
        text: "-- version 1\nCREATE TABLE IF NOT EXISTS x (y int PRIMARY KEY);",
    };
    let refused = migrate(&config, Copies::Usual, &[changed]).await;
    assert!(matches!(&refused, Err(StoreError::Broken(why)) if why.contains("version 1")), "{refused:?}");
    assert_eq!(keyspace.count("migrations").await, 1);
    let mut bad = config.clone();
    for name in ["Mojoscan", "a-b", "", "1a", "x; DROP KEYSPACE y"] {
        bad.keyspace = name.to_owned();
        assert!(matches!(migrate(&bad, Copies::Usual, &[]).await, Err(StoreError::Broken(_))), "{name}");
    }
    keyspace.drop().await;
}

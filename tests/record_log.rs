//! The record log in memory does what every log does. The one on Kafka: `kafka.rs`.

use fastrand::Rng;
use mojoscan_pipeline::{MemoryHistory, memory};
use mojoscan_tests::record_log::suite;
use mojoscan_tests::seeds;

#[tokio::test]
async fn it_does_what_every_log_does() {
    for seed in seeds::some(10) {
        let (mut publisher, logs) = memory::log(MemoryHistory::default(), 1);
        let log = logs.into_iter().next().unwrap();
        suite(&mut publisher, log, 1, &mut Rng::with_seed(seed)).await.unwrap();
    }
}

//! Brokers that let in only who has a password or a certificate.

use crate::{PARTITIONS, SOON};
use chia_ssl::{CHIA_CA_CRT, ChiaCertificate};
use futures::future::join_all;
use mojoscan_domain::Network;
use mojoscan_engines::kafka::{KafkaConfig, KafkaPublisher, KafkaUnusable, Sasl, Topics};
use mojoscan_pipeline::Publisher;
use mojoscan_tests::engines::{Kafka, free_port};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tempfile::TempDir;

/// The name and the password that are right.
const USER: &str = "mojoscan";
const PASSWORD: &str = "right";

pub(crate) async fn are_used() {
    let broker = Broker::start().await;
    broker.add_user();
    let mut refused = vec![];
    for (port, tls) in [(broker.plain, false), (broker.secure, true)] {
        for sasl in [Sasl::Plain, Sasl::ScramSha256, Sasl::ScramSha512] {
            lets_in(&broker.login(port, tls, sasl, PASSWORD)).await;
            let wrong = broker.login(port, tls, sasl, "wrong");
            assert!(!format!("{wrong:?}").contains("wrong"), "the password is shown");
            refused.push((wrong, "Authentication failed"));
        }
    }
    let stranger = KafkaConfig { kafka_ca: None, ..broker.login(broker.secure, true, Sasl::Plain, PASSWORD) };
    refused.push((stranger, "certificate verify failed"));

    let (certificate, key) = broker.certificate();
    let known = KafkaConfig {
        kafka_certificate: Some(certificate),
        kafka_key: Some(key),
        ..broker.config(broker.mutual, true)
    };
    lets_in(&known).await;
    let unknown = KafkaConfig { kafka_certificate: None, kafka_key: None, ..known };
    refused.push((unknown, "alert bad certificate"));
    join_all(refused.iter().map(|(config, reason)| refuses(config, reason))).await;
}

async fn lets_in(config: &KafkaConfig) {
    let topics = Topics::new(Network::Simulator0, config);
    topics.ensure(config, Some(1)).await.unwrap();
    let mut publisher = KafkaPublisher::open(config, &topics).await.unwrap();
    publisher.resume().await.unwrap();
}

/// Soon, in one line, with this reason.
async fn refuses(config: &KafkaConfig, reason: &str) {
    let (topics, since) = (Topics::new(Network::Simulator0, config), Instant::now());
    let refused = KafkaPublisher::open(config, &topics).await.err().unwrap();
    assert!(since.elapsed() < SOON);
    assert!(matches!(refused, KafkaUnusable::Unreachable { .. }), "{refused:?}");
    let refused = refused.to_string();
    assert!(refused.contains(reason) && refused.lines().count() == 1, "{refused}");
}

/// A broker with a listener for each way to log in.
struct Broker {
    kafka: Kafka,
    folder: TempDir,
    /// Takes passwords.
    plain: u16,
    /// Takes passwords over TLS.
    secure: u16,
    /// Takes certificates.
    mutual: u16,
}

impl Broker {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (store, authority) = (folder.path().join("broker.p12"), folder.path().join("clients.pem"));
        let keytool = |arguments: &[&str]| {
            let made = Command::new("keytool").args(arguments).arg("-keystore").arg(&store).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        };
        let named = ["-storepass", "changeit", "-alias", "broker"];
        let make = ["-genkeypair", "-keyalg", "EC", "-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1"];
        keytool(&[&named[..], &make, &["-storetype", "PKCS12"]].concat());
        let export = ["-exportcert", "-rfc", "-file"];
        keytool(&[&named[..], &export, &[ca(folder.path()).to_str().unwrap()]].concat());
        fs::write(&authority, CHIA_CA_CRT).unwrap();

        let [plain, secure, mutual] = std::array::from_fn(|_| free_port());
        let listeners = format!(
            "SASL_PLAINTEXT://127.0.0.1:{plain},SASL_SSL://127.0.0.1:{secure},SSL://127.0.0.1:{mutual}"
        );
        let mut properties = vec![
            format!(
                "listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{internal}},{listeners}"
            ),
            format!("advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},{listeners}"),
            "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512".to_owned(),
            format!("ssl.keystore.type=PKCS12\nssl.keystore.location={}", store.display()),
            "ssl.keystore.password=changeit".to_owned(),
            format!("ssl.truststore.type=PEM\nssl.truststore.location={}", authority.display()),
            "listener.name.ssl.ssl.client.auth=required".to_owned(),
        ];
        let module = "org.apache.kafka.common.security";
        let users = format!("{module}.plain.PlainLoginModule required user_{USER}=\"{PASSWORD}\";");
        for listener in ["sasl_ssl", "sasl_plaintext"] {
            properties.push(format!("listener.name.{listener}.plain.sasl.jaas.config={users}"));
            for mechanism in ["scram-sha-256", "scram-sha-512"] {
                let scram = format!("{module}.scram.ScramLoginModule required;");
                properties.push(format!("listener.name.{listener}.{mechanism}.sasl.jaas.config={scram}"));
            }
        }
        let kafka = Kafka::start_with(&format!("{}\n", properties.join("\n"))).await;
        Self { kafka, folder, plain, secure, mutual }
    }

    /// Tells the cluster the password of the user, for SCRAM.
    fn add_user(&self) {
        for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
            let password = format!("{mechanism}=[password={PASSWORD}]");
            let told = Command::new("java")
                .args(["-cp", Kafka::classes().to_str().unwrap(), "kafka.admin.ConfigCommand"])
                .args(["--bootstrap-server", &self.kafka.address(), "--alter", "--add-config", &password])
                .args(["--entity-type", "users", "--entity-name", USER])
                .output()
                .unwrap();
            assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        }
    }

    fn config(&self, port: u16, tls: bool) -> KafkaConfig {
        KafkaConfig {
            kafka_tls: tls,
            kafka_ca: tls.then(|| ca(self.folder.path())),
            ..KafkaConfig::plain(&format!("127.0.0.1:{port}"), PARTITIONS)
        }
    }

    fn login(&self, port: u16, tls: bool, sasl: Sasl, password: &str) -> KafkaConfig {
        KafkaConfig {
            kafka_sasl: Some(sasl),
            kafka_user: Some(USER.to_owned()),
            kafka_password: Some(password.parse().unwrap()),
            ..self.config(port, tls)
        }
    }

    /// A certificate that the broker trusts, and its key.
    fn certificate(&self) -> (PathBuf, PathBuf) {
        let (certificate, key) =
            (self.folder.path().join("client.pem"), self.folder.path().join("client.key"));
        let made = ChiaCertificate::generate().unwrap();
        fs::write(&certificate, made.cert_pem).unwrap();
        fs::write(&key, made.key_pem).unwrap();
        (certificate, key)
    }
}

/// What the broker's own certificate is checked against.
fn ca(folder: &Path) -> PathBuf {
    folder.join("broker.pem")
}

//! Settings of the record log on Kafka.

use super::KafkaUnusable;
use crate::Secret;
use crate::settings::together;
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use std::fs::File;
use std::path::PathBuf;

/// Settings of the record log on Kafka.
#[derive(Debug, Clone, clap::Args)]
pub struct KafkaConfig {
    /// The brokers to ask first, as `host:port,host:port`.
    #[arg(long = "kafka", env = "MOJOSCAN_KAFKA", value_name = "HOST:PORT,…")]
    pub kafka: String,

    /// Partitions of the coins topic. Fixed for life: another number needs other topics.
    #[arg(long, env = "MOJOSCAN_COINS_PARTITIONS", default_value_t = 12, value_name = "COUNT",
          value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub coins_partitions: u32,

    /// Speak TLS with the brokers.
    #[arg(long, env = "MOJOSCAN_KAFKA_TLS")]
    pub kafka_tls: bool,

    /// Certificates that the brokers' are checked against, as PEM; the system's without.
    #[arg(long, env = "MOJOSCAN_KAFKA_CA", value_name = "FILE")]
    pub kafka_ca: Option<PathBuf>,

    /// The certificate that is shown to the brokers, as PEM.
    #[arg(long, env = "MOJOSCAN_KAFKA_CERTIFICATE", value_name = "FILE")]
    pub kafka_certificate: Option<PathBuf>,

    /// The key of that certificate, as PEM.
    #[arg(long, env = "MOJOSCAN_KAFKA_KEY", value_name = "FILE")]
    pub kafka_key: Option<PathBuf>,

    /// How to log in to the brokers; not at all without.
    #[arg(long, env = "MOJOSCAN_KAFKA_SASL", value_enum)]
    pub kafka_sasl: Option<Sasl>,

    /// The name to log in with.
    #[arg(long, env = "MOJOSCAN_KAFKA_USER", value_name = "NAME")]
    pub kafka_user: Option<String>,

    /// The password to log in with. Better given by the environment than on the command line.
    #[arg(long, env = "MOJOSCAN_KAFKA_PASSWORD", hide_env_values = true, value_name = "TEXT")]
    pub kafka_password: Option<Secret>,
}

/// How to log in to the brokers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Sasl {
    /// `PLAIN`: the password itself. Only over TLS.
    Plain,
    /// `SCRAM-SHA-256`.
    #[value(name = "scram-sha-256")]
    ScramSha256,
    /// `SCRAM-SHA-512`.
    #[value(name = "scram-sha-512")]
    ScramSha512,
}

impl Sasl {
    const fn mechanism(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }
}

impl KafkaConfig {
    /// The settings of a local broker without TLS or passwords.
    pub fn plain(brokers: &str, coins_partitions: u32) -> Self {
        Self {
            kafka: brokers.to_owned(),
            coins_partitions,
            kafka_tls: false,
            kafka_ca: None,
            kafka_certificate: None,
            kafka_key: None,
            kafka_sasl: None,
            kafka_user: None,
            kafka_password: None,
        }
    }

    /// Whether the settings go together. They may come from different places, so it is not asked when they are read.
    ///
    /// # Errors
    /// [`KafkaUnusable::Config`] names the setting that lacks another, and the other.
    pub fn check(&self) -> Result<(), KafkaUnusable> {
        let tls = ("--kafka-tls", self.kafka_tls);
        let sasl = ("--kafka-sasl", self.kafka_sasl.is_some());
        let user = ("--kafka-user", self.kafka_user.is_some());
        let password = ("--kafka-password", self.kafka_password.is_some());
        let certificate = ("--kafka-certificate", self.kafka_certificate.is_some());
        let key = ("--kafka-key", self.kafka_key.is_some());
        together(&[
            (("--kafka-ca", self.kafka_ca.is_some()), &[tls]),
            (certificate, &[tls, key]),
            (key, &[certificate]),
            (sasl, &[user, password]),
            (user, &[sasl]),
            (password, &[sasl]),
        ])
        .map_err(KafkaUnusable::Config)
    }

    /// What every client has in common.
    ///
    /// # Errors
    /// [`KafkaUnusable::Config`] if the settings do not go together, or a file cannot be read: what the library would
    /// say names neither file nor reason.
    pub(super) fn client(&self) -> Result<ClientConfig, KafkaUnusable> {
        self.check()?;
        let protocol = match (self.kafka_tls, self.kafka_sasl) {
            (false, None) => "plaintext",
            (true, None) => "ssl",
            (false, Some(_)) => "sasl_plaintext",
            (true, Some(_)) => "sasl_ssl",
        };
        let mut client = ClientConfig::new();
        client
            .set("bootstrap.servers", &self.kafka)
            .set("client.id", "mojoscan")
            .set("security.protocol", protocol)
            // a broker that was restarted is found again soon
            .set("reconnect.backoff.ms", "100")
            .set("reconnect.backoff.max.ms", "2000")
            .set("socket.keepalive.enable", "true")
            .set_log_level(RDKafkaLogLevel::Warning);
        if self.kafka_tls {
            // where systems keep their certificates: by itself the library that is linked in looks elsewhere
            client.set("ssl.ca.location", "probe");
        }
        let files = [
            ("ssl.ca.location", &self.kafka_ca),
            ("ssl.certificate.location", &self.kafka_certificate),
            ("ssl.key.location", &self.kafka_key),
        ];
        for (name, file) in files {
            if let Some(file) = file {
                let unreadable = |error| KafkaUnusable::Config(format!("{}: {error}", file.display()));
                File::open(file).map_err(unreadable)?;
                client.set(name, file.to_string_lossy());
            }
        }
        if let Some(sasl) = self.kafka_sasl {
            client.set("sasl.mechanism", sasl.mechanism());
            client.set("sasl.username", self.kafka_user.as_deref().unwrap_or_default());
            client.set("sasl.password", self.kafka_password.as_ref().map_or("", Secret::reveal));
        }
        Ok(client)
    }

    /// A client that reads what is committed, from offsets it is told, and keeps none itself.
    ///
    /// # Errors
    /// As [`KafkaConfig::client`].
    pub(super) fn reader(&self, group: &str) -> Result<ClientConfig, KafkaUnusable> {
        let mut client = self.client()?;
        client
            .set("group.id", group)
            .set("isolation.level", "read_committed")
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            // a position that the log does not have is another log's
            .set("auto.offset.reset", "error");
        Ok(client)
    }
}

//! The topics: what they are called, how they are made, and whether they are as they must be.

use super::client::{PATIENCE, Trouble, blocking, misconfigured};
use super::{KafkaConfig, KafkaUnusable};
use mojoscan_domain::Network;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{BaseProducer, Producer};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// How often is looked whether a new topic is there.
const LOOK: Duration = Duration::from_millis(50);

/// How long the library is listened to for the reason of a failure.
const HEAR: Duration = Duration::from_millis(100);

/// Brokers that keep a new partition, where there are as many and nobody says otherwise.
const REPLICAS: i32 = 3;

/// What a topic that is kept for ever must be.
const KEPT: [(&str, &str); 3] =
    [("cleanup.policy", "delete"), ("retention.ms", "-1"), ("retention.bytes", "-1")];

/// The topics of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topics {
    /// The network.
    pub network: Network,
    /// The coins topic, keyed by owner.
    pub coins: String,
    /// The blocks topic, of one partition.
    pub blocks: String,
    /// Partitions of the coins topic.
    pub coins_partitions: u32,
}

/// What was done about a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ensured {
    /// The topic.
    pub topic: String,
    /// It was not there, and was made.
    pub made: bool,
}

impl Topics {
    /// The topics of a network.
    pub fn new(network: Network, config: &KafkaConfig) -> Self {
        Self {
            network,
            coins: format!("{network}.coins.v1"),
            blocks: format!("{network}.blocks.v1"),
            coins_partitions: config.coins_partitions,
        }
    }

    /// Each topic with its number of partitions.
    fn all(&self) -> [(&str, u32); 2] {
        [(&self.coins, self.coins_partitions), (&self.blocks, 1)]
    }

    /// Checks that the topics are there, with as many partitions as they should have. Gives the cluster's id.
    ///
    /// # Errors
    /// [`KafkaUnusable`] if they are not, or no broker answers within ten seconds.
    pub async fn check(&self, config: &KafkaConfig) -> Result<String, KafkaUnusable> {
        let cluster = Cluster::ask(config).await?;
        let mut wrong = self.wrong(&cluster);
        for (topic, _) in self.missing(&cluster) {
            wrong.push(format!("{topic} is missing: `mojoscan topics ensure` makes it"));
        }
        none_of(&wrong)?;
        Ok(cluster.id)
    }

    /// Makes the topics that are missing, and checks the others: partitions, retention, compaction, and the number of
    /// brokers that keep each partition, if one is given. Without, three keep those of a new topic, or all if there are
    /// fewer. Safe to repeat, also by two at once. What is there is never altered.
    ///
    /// # Errors
    /// [`KafkaUnusable`] names all that is not as it must be.
    pub async fn ensure(
        &self,
        config: &KafkaConfig,
        replicas: Option<u16>,
    ) -> Result<Vec<Ensured>, KafkaUnusable> {
        let cluster = Cluster::ask(config).await?;
        let admin = Admin::new(config)?;
        none_of(&self.wrong(&cluster))?;
        let missing = self.missing(&cluster);
        let made = replicas.map_or_else(|| cluster.brokers.min(REPLICAS), i32::from);
        admin.make(&missing, made).await?;
        let end = Instant::now() + PATIENCE;
        // a new topic is not known to every broker at once
        while !self.missing(&Cluster::ask(config).await?).is_empty() {
            if Instant::now() >= end {
                return Err(KafkaUnusable::Topics("the topics that were made do not appear".to_owned()));
            }
            tokio::time::sleep(LOOK).await;
        }
        let mut wrong = self.wrong(&Cluster::ask(config).await?);
        wrong.extend(replicas.into_iter().flat_map(|wanted| self.wrong_replicas(&cluster, wanted)));
        none_of(&wrong)?;
        none_of(&admin.wrong_settings(&self.all().map(|(topic, _)| topic)).await?)?;
        let ensured = self.all().map(|(topic, _)| {
            let made = missing.iter().any(|(made, _)| *made == topic);
            Ensured { topic: topic.to_owned(), made }
        });
        Ok(ensured.into())
    }

    fn missing(&self, cluster: &Cluster) -> Vec<(&str, u32)> {
        self.all().into_iter().filter(|(topic, _)| !cluster.topics.contains_key(*topic)).collect()
    }

    /// Topics with a number of partitions that they should not have.
    fn wrong(&self, cluster: &Cluster) -> Vec<String> {
        let there = self.all().into_iter().filter_map(|(topic, wanted)| {
            let there = cluster.topics.get(topic)?.len();
            (there != wanted as usize).then(|| format!("{topic} has {there} partitions, not {wanted}"))
        });
        there.collect()
    }

    /// Topics with a partition that another number of brokers keeps.
    fn wrong_replicas(&self, cluster: &Cluster, wanted: u16) -> Vec<String> {
        let there = self.all().into_iter().filter_map(|(topic, _)| {
            let kept = cluster.topics.get(topic)?.iter().find(|kept| **kept != usize::from(wanted))?;
            Some(format!("{topic} has a partition that {kept} brokers keep, not {wanted}"))
        });
        there.collect()
    }
}

fn none_of(wrong: &[String]) -> Result<(), KafkaUnusable> {
    if wrong.is_empty() { Ok(()) } else { Err(KafkaUnusable::Topics(wrong.join("; "))) }
}

/// What a cluster says of itself.
struct Cluster {
    id: String,
    brokers: i32,
    /// By topic, how many brokers keep each partition.
    topics: BTreeMap<String, Vec<usize>>,
}

impl Cluster {
    async fn ask(config: &KafkaConfig) -> Result<Self, KafkaUnusable> {
        let config = config.clone();
        blocking(move || {
            let trouble = Trouble::default();
            let client: BaseProducer<Trouble> = config
                .client()?
                .create_with_context(trouble.clone())
                .map_err(|error| misconfigured(&error))?;
            Self::ask_with(&client).map_err(|error| {
                // only now is the reason heard
                client.poll(HEAR);
                trouble.unreachable(&config, &error)
            })
        })
        .await
    }

    fn ask_with(client: &BaseProducer<Trouble>) -> Result<Self, KafkaError> {
        let client = client.client();
        // naming no topic makes none
        let metadata = client.fetch_metadata(None, PATIENCE)?;
        let id = client.fetch_cluster_id(PATIENCE).unwrap_or_default();
        let topics = metadata.topics().iter();
        let topics = topics.map(|topic| {
            let kept = topic.partitions().iter().map(|partition| partition.replicas().len());
            (topic.name().to_owned(), kept.collect())
        });
        let topics = topics.collect();
        let brokers = i32::try_from(metadata.brokers().len()).unwrap_or(REPLICAS);
        Ok(Self { id, brokers, topics })
    }
}

struct Admin<'a> {
    client: AdminClient<Trouble>,
    trouble: Trouble,
    config: &'a KafkaConfig,
}

impl<'a> Admin<'a> {
    fn new(config: &'a KafkaConfig) -> Result<Self, KafkaUnusable> {
        let trouble = Trouble::default();
        let client = AdminClient::from_config_and_context(&config.client()?, trouble.clone())
            .map_err(|error| misconfigured(&error))?;
        Ok(Self { client, trouble, config })
    }

    fn unreachable(&self, error: &KafkaError) -> KafkaUnusable {
        self.trouble.unreachable(self.config, error)
    }

    async fn make(&self, topics: &[(&str, u32)], replicas: i32) -> Result<(), KafkaUnusable> {
        if topics.is_empty() {
            return Ok(());
        }
        let new: Vec<_> = topics
            .iter()
            .map(|(topic, partitions)| {
                let replicas = TopicReplication::Fixed(replicas);
                let mut new = NewTopic::new(topic, partitions.cast_signed(), replicas);
                new.config.extend(KEPT);
                new
            })
            .collect();
        let made =
            self.client.create_topics(&new, &options()).await.map_err(|error| self.unreachable(&error))?;
        let failed: Vec<_> = made
            .into_iter()
            .filter_map(Result::err)
            .filter(|(_, code)| *code != RDKafkaErrorCode::TopicAlreadyExists)
            .map(|(topic, code)| format!("{topic} cannot be made: {code}"))
            .collect();
        none_of(&failed)
    }

    /// Settings of topics that are not as they must be.
    async fn wrong_settings(&self, topics: &[&str]) -> Result<Vec<String>, KafkaUnusable> {
        let mut wrong = vec![];
        for topic in topics {
            let asked = [ResourceSpecifier::Topic(topic)];
            let described = self.client.describe_configs(&asked, &options()).await;
            let described = described.map_err(|error| self.unreachable(&error))?;
            for resource in described {
                let resource = resource
                    .map_err(|code| KafkaUnusable::Topics(format!("{topic} cannot be looked at: {code}")))?;
                wrong.extend(KEPT.into_iter().filter_map(|(name, wanted)| {
                    let there = resource.get(name)?.value.as_deref().unwrap_or("nothing");
                    (there != wanted).then(|| format!("{topic} has {name}={there}, not {wanted}"))
                }));
            }
        }
        Ok(wrong)
    }
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(PATIENCE))
}

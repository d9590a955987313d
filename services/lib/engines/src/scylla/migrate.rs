//! Makes the keyspace and the tables, version by version.
//!
//! A schema file is a list of statements, cut into versions by lines `-- version 1`, `-- version 2`, and so on. Each
//! statement does nothing if what it makes is there already; so a run that was cut off is simply repeated, and of two
//! runs at once each does what the other has not done yet. Both talk to the same node, the first by its id, which takes
//! one change of the schema after the other. A version that was applied is never changed, only followed by another.

use super::session::{Cql, connect};
use super::{CqlConfig, Hash, Number, Writes};
use mojoscan_domain::Digest;
use mojoscan_pipeline::StoreError;
use scylla::client::session::Session;
use scylla::policies::load_balancing::{NodeIdentifier, SingleTargetLoadBalancingPolicy};
use scylla::statement::Statement as Plain;
use std::collections::BTreeMap;
use std::time::Duration;
use tracing::info;

/// How long one change of the schema may take.
const CHANGE_MAX: Duration = Duration::from_secs(60);
/// Copies of each row, where there are as many nodes and nobody says otherwise.
const COPIES: usize = 3;
const MIGRATIONS: &str = "CREATE TABLE IF NOT EXISTS migrations \
    (projection text, version bigint, digest blob, PRIMARY KEY (projection, version))";

/// The tables of a projection.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// The projection's name.
    pub projection: &'static str,
    /// The schema file.
    pub text: &'static str,
}

/// A version of a schema.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    number: u64,
    statements: Vec<String>,
}

impl Version {
    /// What tells it from any other.
    fn digest(&self) -> Hash {
        let parts: Vec<&[u8]> = self.statements.iter().map(String::as_bytes).collect();
        Hash(Digest::of(&parts).to_bytes32())
    }
}

/// How many copies of each row a keyspace keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// Three, or one for each node if there are fewer, where the keyspace is made.
    Usual,
    /// So many, where the keyspace is made.
    Made(u32),
    /// So many, also where it is there already.
    Exactly(u32),
}

/// Makes the keyspace, and the tables that are not there yet. Returns how many versions were applied.
///
/// # Errors
/// [`StoreError`] in one line: no node answers, a login is refused, the keyspace keeps another number of copies, or an
/// applied version is not what it was.
pub async fn migrate(config: &CqlConfig, copies: Copies, schemas: &[Schema]) -> Result<usize, StoreError> {
    let keyspace = &config.keyspace;
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !keyspace.starts_with(|c: char| c.is_ascii_lowercase())
        || !keyspace.chars().all(plain)
        || keyspace.len() > 48
    {
        return Err(StoreError::Broken(format!(
            "--keyspace {keyspace}: a letter, then letters, digits and _, all lower-case, at most 48"
        )));
    }
    let session = connect(config).await?;
    let nodes = session.get_cluster_state().get_nodes_info().len();
    let made = match copies {
        Copies::Usual => nodes.clamp(1, COPIES),
        Copies::Made(count) | Copies::Exactly(count) => count as usize,
    };
    let create = format!(
        "CREATE KEYSPACE IF NOT EXISTS {keyspace} \
         WITH replication = {{'class': 'NetworkTopologyStrategy', 'replication_factor': {made}}}"
    );
    change(&session, &create).await?;
    let used = session.use_keyspace(keyspace, true).await;
    used.map_err(|error| StoreError::Unavailable(format!("cannot use the keyspace {keyspace}: {error}")))?;
    change(&session, MIGRATIONS).await?;
    let cql = Cql::connect(config).await?;
    let kept = copies_in(&cql).await?;
    if let Copies::Exactly(wanted) = copies
        && kept.values().any(|kept| *kept != wanted)
    {
        let kept: Vec<_> = kept.iter().map(|(place, copies)| format!("{copies} in {place}")).collect();
        return Err(StoreError::Broken(format!(
            "the keyspace {keyspace} keeps another number of copies of each row than {wanted}: {}",
            kept.join(", ")
        )));
    }
    let mut applied = 0;
    for schema in schemas {
        let (known, found) = (schema.versions()?, schema.applied(&cql).await?);
        for version in schema.missing(known, &found)? {
            for statement in &version.statements {
                change(&session, statement).await?;
            }
            schema.note(&cql, &version).await?;
            info!(keyspace, projection = schema.projection, version = version.number, "migrated");
            applied += 1;
        }
    }
    Ok(applied)
}

/// How many copies of each row a keyspace keeps.
///
/// # Errors
/// [`StoreError`] if the store does not answer.
pub async fn copies(cql: &Cql) -> Result<Option<u32>, StoreError> {
    Ok(copies_in(cql).await?.into_values().max())
}

/// How many copies of each row a keyspace keeps, by data centre.
async fn copies_in(cql: &Cql) -> Result<BTreeMap<String, u32>, StoreError> {
    let find = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let find = cql.prepare(find).await?;
    let found = cql.find::<(BTreeMap<String, String>,)>(&find, (cql.keyspace(),)).await?;
    let settings = found.into_iter().flat_map(|(settings,)| settings);
    // beside them the class stands there, which is no number
    Ok(settings.filter_map(|(place, copies)| Some((place, copies.parse().ok()?))).collect())
}

/// Changes the schema, through the node that everybody does it through.
async fn change(session: &Session, statement: &str) -> Result<(), StoreError> {
    let state = session.get_cluster_state();
    let first = state.get_nodes_info().iter().min_by_key(|node| node.host_id);
    let mut plain = Plain::new(statement);
    if let Some(first) = first {
        let target = NodeIdentifier::HostId(first.host_id);
        plain.set_load_balancing_policy(Some(SingleTargetLoadBalancingPolicy::new(target, None)));
    }
    plain.set_request_timeout(Some(CHANGE_MAX));
    let done = session.query_unpaged(plain, ()).await;
    done.map_err(|error| StoreError::Unavailable(format!("the schema cannot be changed: {error}")))?;
    Ok(())
}

impl Schema {
    /// Checks that the tables are of the version that this program was made for.
    ///
    /// # Errors
    /// [`StoreError::Broken`] in one line that says what to do.
    pub async fn check(&self, cql: &Cql) -> Result<(), StoreError> {
        let keyspace = cql.keyspace();
        let tables = "SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?";
        let tables = cql.prepare(tables).await?;
        let made = cql.find::<(String,)>(&tables, (keyspace, "migrations")).await?;
        let found = if made.is_some() { self.applied(cql).await? } else { vec![] };
        let missing = self.missing(self.versions()?, &found)?;
        if missing.is_empty() {
            return Ok(());
        }
        let projection = self.projection;
        Err(StoreError::Broken(format!(
            "keyspace {keyspace} lacks the {projection} tables, or they are of an older version: run `mojoscan migrate`"
        )))
    }

    /// The versions that were applied, with their digests.
    async fn applied(&self, cql: &Cql) -> Result<Vec<(u64, Hash)>, StoreError> {
        let find = cql.prepare("SELECT version, digest FROM migrations WHERE projection = ?").await?;
        let found = cql.rows::<(Number, Hash)>(&find, (self.projection,)).await?;
        Ok(found.into_iter().map(|(version, digest)| (version.0, digest)).collect())
    }

    async fn note(&self, cql: &Cql, version: &Version) -> Result<(), StoreError> {
        let text = "INSERT INTO migrations (projection, version, digest) VALUES (?, ?, ?)";
        let mut writes = Writes::default();
        writes
            .push(&cql.prepare(text).await?, (self.projection, Number(version.number), version.digest()))?;
        cql.write(version.number, writes).await
    }

    /// Those of the known versions that were not applied.
    fn missing(&self, known: Vec<Version>, applied: &[(u64, Hash)]) -> Result<Vec<Version>, StoreError> {
        let projection = self.projection;
        for (number, digest) in applied {
            let Some(version) = known.iter().find(|version| version.number == *number) else {
                return Err(StoreError::Broken(format!(
                    "the {projection} tables are of version {number}: made by a newer program than this one"
                )));
            };
            if version.digest() != *digest {
                return Err(StoreError::Broken(format!(
                    "version {number} of the {projection} tables is not the one that was applied"
                )));
            }
        }
        let is_missing = |version: &Version| applied.iter().all(|(number, _)| *number != version.number);
        Ok(known.into_iter().filter(is_missing).collect())
    }

    /// The versions, in order.
    fn versions(&self) -> Result<Vec<Version>, StoreError> {
        let mut versions: Vec<Version> = vec![];
        let mut statement = String::new();
        for line in self.text.lines() {
            if let Some(number) = line.strip_prefix("-- version ") {
                let due = versions.len() as u64 + 1;
                if number.trim().parse() != Ok(due) {
                    return Err(self.unreadable(&format!("version {number} where version {due} is due")));
                }
                versions.push(Version { number: due, statements: vec![] });
            }
            let code = line.split("--").next().unwrap_or_default().trim();
            if code.is_empty() {
                continue;
            }
            let Some(version) = versions.last_mut() else {
                return Err(self.unreadable("a statement before the first version"));
            };
            statement.push_str(code);
            statement.push(' ');
            if code.ends_with(';') {
                let whole = std::mem::take(&mut statement);
                version.statements.push(whole.trim_end_matches([' ', ';']).to_owned());
            }
        }
        if statement.is_empty() {
            Ok(versions)
        } else {
            Err(self.unreadable("the last statement has no end"))
        }
    }

    fn unreadable(&self, why: &str) -> StoreError {
        StoreError::Broken(format!("the schema of {} cannot be read: {why}", self.projection))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: Schema = Schema {
        projection: "x",
        text: "-- about it\n-- version 1\nCREATE TABLE IF NOT EXISTS a ( -- why\n  b int\n);\n-- version 2\nDROP TABLE IF EXISTS c;\n",
    };

    #[test]
    fn a_schema_is_cut_into_versions_and_statements() {
        let versions = SCHEMA.versions().unwrap();
        let statements: Vec<_> = versions.iter().map(|version| version.statements.clone()).collect();
        assert_eq!(statements, [["CREATE TABLE IF NOT EXISTS a ( b int )"], ["DROP TABLE IF EXISTS c"]]);
    }

    #[test]
    fn a_schema_that_cannot_be_understood_is_refused() {
        for text in ["CREATE TABLE a;", "-- version 2\n", "-- version 1\nCREATE TABLE a", "-- version one\n"]
        {
            assert!(Schema { projection: "x", text }.versions().is_err(), "{text}");
        }
    }

    #[test]
    fn applied_versions_are_not_applied_again_and_never_differ() {
        let versions = || SCHEMA.versions().unwrap();
        let applied: Vec<_> = versions().iter().map(|version| (version.number, version.digest())).collect();
        assert_eq!(SCHEMA.missing(versions(), &[]).unwrap(), versions());
        assert_eq!(SCHEMA.missing(versions(), &applied[..1]).unwrap()[0].number, 2);
        assert_eq!(SCHEMA.missing(versions(), &applied).unwrap(), []);
        assert!(SCHEMA.missing(versions(), &[(1, applied[1].1)]).is_err());
        assert!(SCHEMA.missing(versions(), &[(3, applied[1].1)]).is_err());
    }
}

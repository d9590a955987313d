//! TLS to the nodes.

use super::CqlConfig;
use mojoscan_pipeline::StoreError;
use scylla::client::session::TlsContext;
use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// What TLS is spoken with; none if it is not.
pub(super) fn context(config: &CqlConfig) -> Result<Option<TlsContext>, StoreError> {
    let Some(authorities) = &config.cql_ca else { return Ok(None) };
    let mut roots = RootCertStore::empty();
    for certificate in certificates("--cql-ca", authorities)? {
        roots.add(certificate).map_err(|error| unreadable("--cql-ca", authorities, &error))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unreadable("--cql-ca", authorities, &error))?
        .with_root_certificates(roots);
    let client = match (&config.cql_certificate, &config.cql_key) {
        (Some(certificate), Some(key)) => {
            let chain = certificates("--cql-certificate", certificate)?;
            let key = PrivateKeyDer::from_pem_slice(&read("--cql-key", key)?)
                .map_err(|error| unreadable("--cql-key", key, &error))?;
            let client = builder.with_client_auth_cert(chain, key);
            client.map_err(|error| unreadable("--cql-certificate", certificate, &error))?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(Some(TlsContext::from(Arc::new(client))))
}

fn certificates(name: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, StoreError> {
    let found = CertificateDer::pem_slice_iter(&read(name, file)?).collect::<Result<Vec<_>, _>>();
    let found = found.map_err(|error| unreadable(name, file, &error))?;
    if found.is_empty() {
        return Err(unreadable(name, file, &"there is no certificate in it"));
    }
    Ok(found)
}

fn read(name: &str, file: &Path) -> Result<Vec<u8>, StoreError> {
    fs::read(file).map_err(|error| unreadable(name, file, &error))
}

fn unreadable(name: &str, file: &Path, error: &dyn Display) -> StoreError {
    StoreError::Broken(format!("{name} {}: {error}", file.display()))
}

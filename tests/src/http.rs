//! An HTTP client.

use tokio_rustls::rustls::crypto::ring;

/// An HTTP client.
pub fn client() -> reqwest::Client {
    // another test of the process may have been first
    drop(ring::default_provider().install_default());
    reqwest::Client::builder().no_proxy().build().unwrap()
}

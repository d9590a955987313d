//! The driver's errors as the ports know them.

use mojoscan_pipeline::StoreError;
use scylla::errors::{
    ConnectionError, ConnectionPoolError, ConnectionSetupRequestErrorKind, DbError, ExecutionError,
    MetadataError, NewSessionError, PrepareError, RequestAttemptError,
};
use std::fmt::Display;

/// Why there is no connection, in one line.
pub(super) fn connect(nodes: &str, error: &NewSessionError) -> StoreError {
    let NewSessionError::MetadataError(MetadataError::ConnectionPoolError(ConnectionPoolError::Broken {
        last_connection_error: last,
    })) = error
    else {
        return StoreError::Unavailable(one_line(nodes, error));
    };
    let ConnectionError::ConnectionSetupRequestError(setup) = last else {
        return StoreError::Unavailable(one_line(nodes, last));
    };
    match setup.get_error() {
        ConnectionSetupRequestErrorKind::MissingAuthentication => {
            StoreError::Broken(one_line(nodes, "a login is needed: --cql-user and --cql-password"))
        }
        ConnectionSetupRequestErrorKind::DbError(DbError::AuthenticationError, why) => {
            StoreError::Broken(one_line(nodes, format!("the login is refused: {why}")))
        }
        other => StoreError::Unavailable(one_line(nodes, other)),
    }
}

fn one_line(nodes: &str, why: impl Display) -> String {
    format!("--cql {nodes}: {why}").replace('\n', " ")
}

/// An error of a request: passing if the same request may yet succeed.
pub(super) fn request(error: &ExecutionError) -> StoreError {
    let text = format!("the CQL store failed: {error}");
    let passing = match error {
        ExecutionError::LastAttemptError(attempt) => is_passing(attempt),
        ExecutionError::BadQuery(_) | ExecutionError::UseKeyspaceError(_) => false,
        _ => true,
    };
    if passing { StoreError::Unavailable(text) } else { StoreError::Broken(text) }
}

/// An error in preparing a statement.
pub(super) fn prepare(statement: &str, error: &PrepareError) -> StoreError {
    let text = format!("the CQL store refuses the statement {statement:?}: {error}");
    match error {
        PrepareError::AllAttemptsFailed { first_attempt } if !is_passing(first_attempt) => {
            StoreError::Broken(text)
        }
        _ => StoreError::Unavailable(text),
    }
}

fn is_passing(error: &RequestAttemptError) -> bool {
    match error {
        RequestAttemptError::DbError(error, _) => !matches!(
            error,
            DbError::SyntaxError
                | DbError::Invalid
                | DbError::AlreadyExists { .. }
                | DbError::FunctionFailure { .. }
                | DbError::AuthenticationError
                | DbError::Unauthorized
                | DbError::ConfigError
                | DbError::ProtocolError
        ),
        RequestAttemptError::BrokenConnectionError(_) | RequestAttemptError::UnableToAllocStreamId => true,
        _ => false,
    }
}

/// A row or a value that cannot be what was written.
pub fn damaged(what: impl Display) -> StoreError {
    StoreError::Broken(format!("the CQL store is damaged: {what}"))
}

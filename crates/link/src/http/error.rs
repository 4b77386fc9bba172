//! The ways a request can end without the answer we wanted.

use reqwest::{StatusCode, Url};

use super::{Hold, Moment, Reply};

/// Why there is no answer to work with.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No connection; nothing was sent.
    #[error("reach {host}: {detail}; check the network, the proxy and the address")]
    Unreachable {
        /// Whom we called.
        host: String,
        /// What the system said.
        detail: String,
    },
    /// The request may have arrived, but no complete answer came back.
    #[error("get an answer from {host}: {detail}")]
    Lost {
        /// Whom we asked.
        host: String,
        /// What the system said.
        detail: String,
    },
    /// A limit of the service; the request was not carried out.
    #[error("go on before {until}: {}", why.words())]
    Held {
        /// When to ask again.
        until: Moment,
        /// Which limit.
        why: Hold,
    },
    /// What was asked for is elsewhere.
    #[error("follow a redirect (status {}) without being told to", status.as_u16())]
    Moved {
        /// The status.
        status: StatusCode,
        /// Where it leads, if it says so.
        to: Option<Url>,
    },
    /// A complete answer that is no success.
    #[error("be served: status {}: {}", reply.status.as_u16(), reply.message())]
    Refused {
        /// The answer.
        reply: Box<Reply>,
    },
    /// The answer is larger than is read.
    #[error("read an answer of {host}: it has more than {limit} bytes")]
    TooLarge {
        /// Who answered.
        host: String,
        /// The bound.
        limit: usize,
    },
    /// A success that cannot be read.
    #[error("understand an answer of {host}: {detail}; is there a proxy or a login page in between?")]
    Malformed {
        /// Who answered.
        host: String,
        /// What is wrong with it.
        detail: String,
    },
}

impl HttpError {
    /// Whether the request may have been carried out all the same.
    pub fn leaves_doubt(&self) -> bool {
        match self {
            Self::Lost { .. } | Self::TooLarge { .. } | Self::Malformed { .. } => true,
            Self::Refused { reply } => reply.status.is_server_error(),
            Self::Unreachable { .. } | Self::Held { .. } | Self::Moved { .. } => false,
        }
    }

    /// Whether asking again soon may help.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Lost { .. } | Self::Malformed { .. } => true,
            Self::Refused { reply } => matches!(reply.status.as_u16(), 408 | 500 | 502 | 503 | 504),
            Self::Held { .. } | Self::Moved { .. } | Self::TooLarge { .. } => false,
        }
    }
}

impl Hold {
    fn words(self) -> &'static str {
        match self {
            Self::Spent => "the service's rate limit is used up",
            Self::Reserve => "what is left of the service's rate limit is kept for work",
            Self::Slower => "the service asked us to slow down",
        }
    }
}

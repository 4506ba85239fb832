//! `warpwright.analyzeFully`: the whole analysis of a document, until it is done or called off. What saving gave up for its
//! limits is found out here, and told like any other finding.

use base::CancelToken;
use serde_json::Value;
use tokio::sync::oneshot;
use tower_lsp::jsonrpc::{Error, Result};

use super::progress::{Guard, Progress};
use super::target::analyzed;
use super::{answer, Call};
use crate::lsp::backend::{failed_inside, Backend};
use crate::lsp::host::{Context, Message, Need};

pub async fn run(backend: &Backend, call: Call) -> Result<Option<Value>> {
    let uri = call.uri()?;
    let of_now = |context: &Context| analyzed(context).cloned();
    let all = backend.ask(uri.clone(), Need::Newest, of_now).await?;
    let cancel = CancelToken::new();
    let caps = backend.caps();
    let progress = Progress::begin(backend, &caps, call.token, "Analyzing all of the file", &cancel).await;
    let (reply, outcome) = oneshot::channel();
    let (stop, teller) = (cancel.clone(), progress.teller());
    // a request that is cancelled drops this guard and so ends the work
    let guard = Guard(cancel);
    backend.pool.long(Box::new(move || {
        let ask = ide::Ask::new(&all.doc, &all.memo, ide::Tier::Command, &stop);
        let done = ide::deepen(&ask, |done, of| teller.tell(done, of, "functions"));
        let _ = reply.send(done);
    }));
    let outcome = outcome.await;
    drop(guard);
    // what was found until then is told in any case
    backend.host.send(Message::Deepened { uri });
    match outcome {
        Ok(Ok(())) => {
            progress.end("done");
            Ok(answer(&wire::FullyAnalyzed { done: true }))
        }
        Ok(Err(ide::Cancelled)) => {
            progress.end("cancelled");
            Err(Error::request_cancelled())
        }
        Err(_) => {
            progress.end("failed");
            Err(failed_inside())
        }
    }
}

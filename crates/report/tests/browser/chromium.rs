//! A real Chromium without a window, driven by the DevTools protocol over two pipes.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any page here takes on a busy machine: only a hanging browser waits for it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Chromium {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    last: u64,
    session: Option<String>,
    events: VecDeque<Value>,
    _profile: TempDir,
}

impl Chromium {
    /// Starts the browser and opens a page of its own.
    pub fn start() -> Chromium {
        let profile = tempfile::tempdir().expect("a scratch directory");
        // The protocol is spoken on descriptors 3 and 4: the shell puts our pipes there.
        let script = "exec chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
                      --disable-background-networking --disable-component-update --disable-default-apps \
                      --remote-debugging-pipe --user-data-dir=\"$1\" about:blank 3<&0 4>&1 0</dev/null 1>&2";
        let mut child = Command::new("sh")
            .args(["-c", script, "sh"])
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a shell");
        let to = child.stdin.take().expect("it is piped");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut chromium =
            Chromium { child, to, from, last: 0, session: None, events: VecDeque::new(), _profile: profile };
        let target = chromium.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = chromium.call("Target.attachToTarget", attach);
        chromium.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            chromium.call(&format!("{domain}.enable"), json!({}));
        }
        chromium
    }

    /// Calls a method of the protocol and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).unwrap_or_else(|error| panic!("{MISSING}: {error}"));
        loop {
            let message = self.receive();
            if message["id"] != json!(self.last) {
                self.events.push_back(message);
                continue;
            }
            assert!(message["error"].is_null(), "{method}: {}", message["error"]);
            return message["result"].clone();
        }
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, path: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", path.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive();
            self.events.push_back(event);
        }
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let result = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Presses a key, as `ArrowRight`.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key}));
        }
    }

    /// Complaints of the page so far: errors, warnings, exceptions, anything that the policy refused.
    pub fn complaints(&self) -> Vec<String> {
        let said = ["Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"];
        let complaints = self.events.iter().filter(|event| said.iter().any(|name| event["method"] == *name));
        complaints.map(|event| event["params"].to_string()).collect()
    }

    /// Addresses that the page requested.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        requests.filter_map(|event| Some(event["params"]["request"]["url"].as_str()?.to_owned())).collect()
    }

    fn receive(&self) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{MISSING}: {error}"))
    }
}

const MISSING: &str = "chromium does not answer; `scripts/setup test` installs it";

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

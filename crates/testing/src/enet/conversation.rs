//! The C program of a conversation: compiled once, started with a library, reaped.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Options of the datagrams: checksum and compression.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    pub checksum: bool,
    pub coder: bool,
}

/// Every form of the conversation.
pub const FORMS: [Form; 4] = [
    Form { checksum: false, coder: false },
    Form { checksum: true, coder: false },
    Form { checksum: false, coder: true },
    Form { checksum: true, coder: true },
];

/// Path of the program, compiled once.
fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| crate::compile::compile("conversation", include_str!("conversation.c")))
}

/// One end of a conversation, in a process that ends with this.
pub struct Program(Child);

impl Program {
    /// A server, and where it is.
    pub fn server(form: Form, library: Option<&Path>) -> (Program, SocketAddr) {
        let mut server = Program::start("server", form, None, library);
        let mut line = String::new();
        let answers = server.0.stdout.take().expect("piped");
        BufReader::new(answers).read_line(&mut line).expect("the server writes a line");
        let port = line.trim().parse().expect("the server prints its port");
        (server, SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    }

    /// A client of the server at `port`.
    pub fn client(form: Form, port: u16, library: Option<&Path>) -> Program {
        Program::start("client", form, Some(port), library)
    }

    /// The command of a client of the server at `to`, with the stock library: for callers that start it elsewhere.
    pub fn client_command(form: Form, to: SocketAddrV4) -> Vec<String> {
        let flags = [form.checksum, form.coder].map(|flag| u8::from(flag).to_string());
        let program = program().to_str().expect("the path is text").to_owned();
        let to = [to.port().to_string(), to.ip().to_string()];
        [program, "client".to_owned()].into_iter().chain(flags).chain(to).collect()
    }

    fn start(role: &str, form: Form, port: Option<u16>, library: Option<&Path>) -> Program {
        let mut command = Command::new(program());
        command.arg(role).args([form.checksum, form.coder].map(|flag| u8::from(flag).to_string()));
        command.args(port.map(|port| port.to_string()));
        if let Some(folder) = library {
            command.env("LD_LIBRARY_PATH", folder);
        }
        Program(command.stdout(Stdio::piped()).spawn().expect("the program was just compiled"))
    }

    /// Waits for its end, which must be a good one.
    pub fn ends_well(mut self) {
        let status = self.0.wait().expect("it is our child");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is reaped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

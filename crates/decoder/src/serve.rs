//! The loop of a decoder.

use super::{Datagram, Decoded, FrameError, GREETING, MOST_FRAME_BYTES, Reply, VERSION, hello};
use std::io::{self, BufWriter, Read, Write};

/// A protocol. It sees all datagrams of a server in order, in both directions, and remembers whatever the next ones need.
pub trait Decoder {
    /// Name of the protocol, for reports.
    fn name(&self) -> &str;

    /// What is in this datagram.
    fn decode(&mut self, datagram: &Datagram) -> Decoded;
}

/// Answers `prony replay` on standard input and output until that ends.
///
/// # Errors
/// When the answers are not read, or what is read was not written by `prony replay`.
pub fn serve(decoder: impl Decoder) -> io::Result<()> {
    serve_on(decoder, &mut io::stdin().lock(), &mut BufWriter::new(io::stdout().lock()))
}

fn serve_on(mut decoder: impl Decoder, from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let wrong = |error: FrameError| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut greeting = [0; 8];
    from.read_exact(&mut greeting)?;
    if &greeting != GREETING {
        return Err(wrong(FrameError::Greeting(greeting)));
    }
    let mut word = [0; 4];
    from.read_exact(&mut word)?;
    let version = u32::from_le_bytes(word);
    if version != VERSION {
        return Err(wrong(FrameError::Version(version)));
    }
    to.write_all(hello(decoder.name()).as_bytes())?;
    to.flush()?;
    let mut frame = Vec::new();
    loop {
        match from.read_exact(&mut word) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            ended => ended?,
        }
        let length = u32::from_le_bytes(word);
        if length as usize > MOST_FRAME_BYTES {
            return Err(wrong(FrameError::Length(length)));
        }
        frame.resize(length as usize, 0);
        from.read_exact(&mut frame)?;
        let datagram = Datagram::read(&frame).map_err(wrong)?;
        let answer = decoder.decode(&datagram);
        to.write_all(Reply { number: datagram.number, answer }.to_line().as_bytes())?;
        to.flush()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, Field, Value, greeting, read_hello};

    struct Lengths;

    impl Decoder for Lengths {
        fn name(&self) -> &str {
            "lengths"
        }

        fn decode(&mut self, datagram: &Datagram) -> Decoded {
            Decoded::Fields(vec![Field::new("bytes", Value::Integer(datagram.payload.len() as i128))])
        }
    }

    #[test]
    fn every_datagram_gets_its_line_until_the_input_ends() {
        let mut input = greeting().to_vec();
        for number in 1..=2 {
            let datagram = Datagram {
                number,
                direction: Direction::FromServer,
                is_stream: false,
                process: 0,
                frame: 1,
                local_port: 1,
                socket: 3,
                peer: String::new(),
                payload: vec![0; number as usize],
            };
            datagram.write(&mut input).expect("it is short");
        }
        let mut output = Vec::new();
        serve_on(Lengths, &mut &input[..], &mut output).expect("the input is whole");
        let lines: Vec<&[u8]> = output.split(|&byte| byte == b'\n').collect();
        assert_eq!(read_hello(lines[0]), Ok("lengths".to_owned()));
        let second = Reply::from_line(lines[2]).expect("an answer");
        assert_eq!(second.number, 2);
        assert_eq!(second.answer, Decoded::Fields(vec![Field::new("bytes", Value::Integer(2))]));
    }

    #[test]
    fn another_version_is_refused() {
        let error = serve_on(Lengths, &mut &b"PRONYDEC\x02\0\0\0"[..], &mut Vec::new()).expect_err("refused");
        assert_eq!(error.to_string(), "expected version 1 of the conversation, found 2");
    }
}

//! Messages out of bytes: the header part of LSP's base protocol, guarded.
//!
//! A length is believed only up to a limit and memory grows with what has really arrived, never with what was
//! announced. After anything unreadable the reader finds its feet at the next header. JSON is not looked at here.

use std::io::{self, BufRead, Read};

use crate::limits::lsp_frames::{FIRST_RESERVATION_BYTES, MAX_HEADER_LINE_BYTES};

/// No message is longer: twice the largest document that is read, and room for escapes.
pub const MAX_MESSAGE_BYTES: u64 = 256 * 1024 * 1024;

/// What came next.
#[derive(Debug)]
pub enum Frame {
    /// The body of one message.
    Message(Vec<u8>),
    /// Something that is no message; the reader has passed it or will pass it on the next call.
    Refused(String),
    /// The other side is gone.
    End,
}

/// Reads frames from a stream of bytes.
pub struct Frames<R> {
    input: R,
    /// Set after a refusal: skip to the next header, at most this many bytes.
    skip: Option<u64>,
}

enum Line {
    Text(Vec<u8>),
    TooLong,
    End,
}

impl<R: BufRead> Frames<R> {
    pub fn new(input: R) -> Frames<R> {
        Frames { input, skip: None }
    }

    /// The next frame. Errors of the stream are the end of it for the caller.
    pub fn next(&mut self) -> io::Result<Frame> {
        let mut length = None;
        if let Some(at_most) = self.skip.take() {
            match self.find_header(at_most)? {
                Found::Length(found) => length = Some(found),
                Found::Passed => {}
                Found::End => return Ok(Frame::End),
            }
        }
        let mut seen_any = length.is_some();
        loop {
            let line = match self.line()? {
                Line::End => return Ok(Frame::End),
                Line::TooLong => return Ok(self.refuse("a header line is longer than 4 KiB")),
                Line::Text(line) => line,
            };
            if line.is_empty() {
                match length {
                    Some(length) => return self.body(length),
                    // a stray blank line between messages harms nobody
                    None if !seen_any => continue,
                    None => return Ok(self.refuse("the header has no Content-Length")),
                }
            }
            seen_any = true;
            let Some((name, value)) = split_header(&line) else {
                return Ok(self.refuse("a header line has no colon"));
            };
            if name.eq_ignore_ascii_case(b"content-length") {
                match std::str::from_utf8(value).ok().and_then(|v| v.trim().parse::<u64>().ok()) {
                    Some(value) => length = Some(value),
                    None => return Ok(self.refuse("Content-Length is not a number")),
                }
            }
        }
    }

    fn refuse(&mut self, why: &str) -> Frame {
        self.skip = Some(u64::MAX);
        Frame::Refused(why.to_owned())
    }

    fn body(&mut self, length: u64) -> io::Result<Frame> {
        if length > MAX_MESSAGE_BYTES {
            self.skip = Some(length);
            return Ok(Frame::Refused(format!(
                "a message of {length} bytes was announced; the limit is {MAX_MESSAGE_BYTES} bytes"
            )));
        }
        let mut body = Vec::with_capacity((length as usize).min(FIRST_RESERVATION_BYTES));
        let got = (&mut self.input).take(length).read_to_end(&mut body)?;
        if (got as u64) < length {
            return Ok(Frame::End);
        }
        Ok(Frame::Message(body))
    }

    /// One line without its end.
    fn line(&mut self) -> io::Result<Line> {
        let mut line = Vec::new();
        loop {
            let available = self.input.fill_buf()?;
            if available.is_empty() {
                return Ok(Line::End);
            }
            let end = available.iter().position(|b| *b == b'\n');
            let taken = end.map_or(available.len(), |at| at + 1);
            line.extend_from_slice(available.get(..taken).unwrap_or_default());
            self.input.consume(taken);
            if line.len() > MAX_HEADER_LINE_BYTES {
                return Ok(Line::TooLong);
            }
            if end.is_some() {
                while matches!(line.last(), Some(b'\n' | b'\r')) {
                    line.pop();
                }
                return Ok(Line::Text(line));
            }
        }
    }

    /// Passes bytes up to and with the next `Content-Length: N\r\n`. Raw control characters cannot stand inside a
    /// JSON string, so what is found is a header and not the content of a message that is being skipped.
    fn find_header(&mut self, at_most: u64) -> io::Result<Found> {
        const NAME: &[u8] = b"content-length:";
        let (mut matched, mut digits, mut value) = (0usize, 0u32, 0u64);
        let mut left = at_most;
        let mut after_cr = false;
        while left > 0 {
            let available = self.input.fill_buf()?;
            if available.is_empty() {
                return Ok(Found::End);
            }
            let mut used = 0;
            let mut found = false;
            for byte in available.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
                used += 1;
                if matched < NAME.len() {
                    let lower = byte.to_ascii_lowercase();
                    // the name's first letter occurs in it once, so a mismatch can only begin it anew
                    matched = match NAME.get(matched) {
                        Some(wanted) if *wanted == lower => matched + 1,
                        _ => usize::from(NAME.first() == Some(&lower)),
                    };
                    (digits, value, after_cr) = (0, 0, false);
                } else if after_cr {
                    if *byte == b'\n' {
                        found = true;
                        break;
                    }
                    matched = 0;
                } else if byte.is_ascii_digit() && digits < 18 {
                    digits += 1;
                    value = value * 10 + u64::from(byte - b'0');
                } else if *byte == b'\r' && digits > 0 {
                    after_cr = true;
                } else if !(*byte == b' ' && digits == 0) {
                    matched = usize::from(byte.eq_ignore_ascii_case(&b'c'));
                }
            }
            self.input.consume(used);
            left -= used as u64;
            if found {
                return Ok(Found::Length(value));
            }
        }
        Ok(Found::Passed)
    }
}

enum Found {
    Length(u64),
    Passed,
    End,
}

fn split_header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|b| *b == b':')?;
    Some((line.get(..colon)?.trim_ascii(), line.get(colon + 1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn frames(input: &[u8]) -> Vec<String> {
        // a buffer of 7 bytes, so that everything crosses its edge
        let mut frames = Frames::new(BufReader::with_capacity(7, input));
        let mut seen = Vec::new();
        loop {
            match frames.next() {
                Ok(Frame::Message(body)) => seen.push(String::from_utf8_lossy(&body).into_owned()),
                Ok(Frame::Refused(why)) => seen.push(format!("! {why}")),
                Ok(Frame::End) => return seen,
                Err(e) => return vec![e.to_string()],
            }
        }
    }

    #[test]
    fn messages_and_other_headers() {
        let input =
            b"Content-Length: 2\r\n\r\n{}Content-Type: x; charset=utf-8\r\ncontent-length:4\r\n\r\ntrue";
        assert_eq!(frames(input), ["{}", "true"]);
    }

    #[test]
    fn rubbish_is_refused_once_and_passed() {
        let input =
            b"what is this\r\nmore: of it\r\n\r\nxxContent-Length: nine\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(frames(input), ["! a header line has no colon", "{}"]);
        assert_eq!(
            frames(b"Other: 1\r\n\r\nContent-Length: 2\r\n\r\n{}"),
            ["! the header has no Content-Length", "{}"]
        );
        assert_eq!(
            frames(b"Content-Length: -1\r\n\r\nContent-Length: 2\r\n\r\n{}"),
            ["! Content-Length is not a number", "{}"]
        );
    }

    #[test]
    fn a_giant_is_refused_and_the_next_message_is_read() {
        let input =
            b"Content-Length: 1073741824\r\n\r\n{\"Content-Length: 3\\r\\n\"}Content-Length: 2\r\n\r\n[]";
        let seen = frames(input);
        assert_eq!(seen.len(), 2);
        assert!(seen.first().is_some_and(|s| s.contains("1073741824")), "{seen:?}");
        assert_eq!(seen.get(1).map(String::as_str), Some("[]"));
    }

    #[test]
    fn a_cut_stream_ends() {
        assert!(frames(b"Content-Length: 20\r\n\r\n{").is_empty());
        assert!(frames(b"Content-Len").is_empty());
    }
}

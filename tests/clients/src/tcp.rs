// SPDX-License-Identifier: MIT
//! A plain blocking client: prints what the server at 127.0.0.1 says.
use std::io::{self, Read};
use std::net::TcpStream;

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_default();
    let mut text = String::new();

    TcpStream::connect(format!("127.0.0.1:{port}"))?.read_to_string(&mut text)?;
    print!("{text}");
    Ok(())
}

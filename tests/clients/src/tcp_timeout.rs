// SPDX-License-Identifier: MIT
//! Connects with a time limit: prints what the server at 127.0.0.1 says.
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

fn main() -> io::Result<()> {
    let port = std::env::args().nth(1).unwrap_or_default();
    let port = port.parse().expect("a port");
    let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut text = String::new();

    TcpStream::connect_timeout(&addr, Duration::from_secs(20))?.read_to_string(&mut text)?;
    print!("{text}");
    Ok(())
}

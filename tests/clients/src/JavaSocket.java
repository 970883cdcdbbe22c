/* SPDX-License-Identifier: MIT */
import java.io.InputStream;
import java.net.Socket;

/** A plain blocking client: prints what the server at 127.0.0.1 says. */
public class JavaSocket {
	public static void main(String[] args) throws Exception {
		try (Socket s = new Socket("127.0.0.1", Integer.parseInt(args[0]))) {
			InputStream in = s.getInputStream();

			System.out.write(in.readAllBytes());
			System.out.flush();
		}
	}
}

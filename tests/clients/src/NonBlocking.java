/* SPDX-License-Identifier: MIT */
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousSocketChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** The three non-blocking clients of the JDK: prints what the server at 127.0.0.1 says. */
public class NonBlocking {
	private static final int LIMIT_SECONDS = 20;

	private static void http(int port) throws Exception {
		HttpClient client = HttpClient.newBuilder()
			.version(HttpClient.Version.HTTP_1_1)
			.connectTimeout(Duration.ofSeconds(LIMIT_SECONDS)).build();
		HttpRequest request = HttpRequest.newBuilder(
			URI.create("http://127.0.0.1:" + port + "/")).build();

		System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
	}

	private static void selector(int port) throws Exception {
		ByteBuffer text = ByteBuffer.allocate(1000);

		try (Selector selector = Selector.open(); SocketChannel channel = SocketChannel.open()) {
			channel.configureBlocking(false);
			channel.connect(new InetSocketAddress("127.0.0.1", port));
			SelectionKey key = channel.register(selector, SelectionKey.OP_CONNECT);
			for (;;) {
				if (selector.select(LIMIT_SECONDS * 1000) == 0)
					throw new Exception("nothing happened");
				selector.selectedKeys().clear();
				if (key.isConnectable() && channel.finishConnect())
					key.interestOps(SelectionKey.OP_READ);
				else if (key.isReadable() && channel.read(text) < 0)
					break;
			}
		}
		System.out.write(text.array(), 0, text.position());
	}

	private static void async(int port) throws Exception {
		ByteBuffer text = ByteBuffer.allocate(1000);

		try (AsynchronousSocketChannel channel = AsynchronousSocketChannel.open()) {
			channel.connect(new InetSocketAddress("127.0.0.1", port))
				.get(LIMIT_SECONDS, TimeUnit.SECONDS);
			while (channel.read(text).get(LIMIT_SECONDS, TimeUnit.SECONDS) >= 0)
				;
		}
		System.out.write(text.array(), 0, text.position());
	}

	public static void main(String[] args) throws Exception {
		int port = Integer.parseInt(args[1]);

		switch (args[0]) {
		case "http" -> http(port);
		case "selector" -> selector(port);
		case "async" -> async(port);
		default -> throw new IllegalArgumentException(args[0]);
		}
		System.out.flush();
	}
}

// An HTTP server of two worker processes that answers each request with one page: `node node.js PORT`.

const cluster = require("node:cluster");
const http = require("node:http");

const WORKERS = 2;

if (cluster.isPrimary) {
    for (let number = 0; number < WORKERS; number++) {
        cluster.fork();
    }
    process.on("SIGTERM", () => cluster.disconnect(() => process.exit()));
} else {
    const page = Buffer.from("small page\n".repeat(60));
    const server = http.createServer((request, answer) => answer.writeHead(200, { "Content-Length": page.length }).end(page));
    // `ab` keeps its connections between requests.
    server.keepAliveTimeout = 60_000;
    server.listen(Number(process.argv[2]), "127.0.0.1");
}

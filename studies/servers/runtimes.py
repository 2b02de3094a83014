"""Web servers in many languages: the runtimes are what is tried, so each answers with the time and a random number."""

from loads import pages
from rows import Server

LOAD = pages(("/@n@", "/a?@n@"), statuses=(200,), keep_alive=False)

PYTHON_APP = """import time, random
def app(environ, start_response):
    body = (environ['PATH_INFO'] + str(time.time()) + str(random.random())).encode() * 20
    start_response('200 OK', [('Content-Length', str(len(body)))])
    return [body]
"""
ASGI_APP = """import time, random
async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        while True:
            message = await receive()
            await send({'type': message['type'] + '.complete'})
            if message['type'] == 'lifespan.shutdown':
                return
    body = (scope['path'] + str(time.time()) + str(random.random())).encode() * 20
    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', str(len(body)).encode())]})
    await send({'type': 'http.response.body', 'body': body})
"""


def runtime(name, packages, command, files=None, prepare=None, **more):
    return Server(name, "runtime", packages, command, LOAD, files=files or {}, prepare=prepare or [], **more)


JETTY = ":".join(f"/usr/share/java/{name}.jar" for name in ["jetty9-server", "jetty9-http", "jetty9-io", "jetty9-util", "servlet-api"])
NETTY = ":".join(f"/usr/share/java/netty-{name}.jar" for name in ["buffer", "codec", "codec-http", "common", "handler", "resolver", "transport"])

RUNTIMES = [
    runtime(
        "java",
        "openjdk-17-jdk-headless",
        "java -Xmx64m -cp @dir@ Answers",
        {
            "Answers.java": """import com.sun.net.httpserver.HttpServer;
public class Answers {
    public static void main(String[] arguments) throws Exception {
        var server = HttpServer.create(new java.net.InetSocketAddress("127.0.0.1", @port@), 0);
        server.createContext("/", exchange -> {
            var answer = (exchange.getRequestURI() + " " + Math.random() + " " + System.nanoTime()).repeat(20).getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.setExecutor(java.util.concurrent.Executors.newFixedThreadPool(3));
        server.start();
    }
}
"""
        },
        ["javac -d @dir@ @dir@/Answers.java"],
    ),
    runtime(
        "tomcat",
        "tomcat10 openjdk-17-jdk-headless",
        "java -Xmx128m -Dcatalina.home=/usr/share/tomcat10 -Dcatalina.base=@state@ -Djava.io.tmpdir=@state@/temp"
        " -cp /usr/share/tomcat10/bin/bootstrap.jar:/usr/share/tomcat10/bin/tomcat-juli.jar org.apache.catalina.startup.Bootstrap start",
        {
            "state/conf/server.xml": '<Server port="-1" shutdown="off"><Service name="Catalina"><Connector port="@port@" address="127.0.0.1"/>'
            '<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps"/></Engine></Service></Server>',
            "state/webapps/ROOT/a": "a page\n" * 50,
            "state/webapps/ROOT/index.html": "a page\n" * 50,
            "state/temp/none": "",
            "state/logs/none": "",
        },
        ["cp /etc/tomcat10/web.xml @state@/conf/", "for n in $(seq 0 999); do cp @state@/webapps/ROOT/a @state@/webapps/ROOT/$n; done"],
    ),
    runtime(
        "jetty",
        "libjetty9-java openjdk-17-jdk-headless",
        f"java -Xmx64m -cp {JETTY}:@dir@ Pages",
        {
            "Pages.java": """import javax.servlet.http.*;
import org.eclipse.jetty.server.*;
import org.eclipse.jetty.server.handler.AbstractHandler;
public class Pages extends AbstractHandler {
    public void handle(String path, Request base, HttpServletRequest request, HttpServletResponse response) throws java.io.IOException {
        response.getOutputStream().print((path + " " + Math.random() + " " + System.currentTimeMillis()).repeat(20));
        base.setHandled(true);
    }
    public static void main(String[] arguments) throws Exception {
        var server = new Server(new java.net.InetSocketAddress("127.0.0.1", @port@));
        server.setHandler(new Pages());
        server.start();
    }
}
"""
        },
        [f"javac -cp {JETTY} -d @dir@ @dir@/Pages.java"],
    ),
    runtime(
        "netty",
        "libnetty-java openjdk-17-jdk-headless",
        f"java -Xmx64m -cp {NETTY}:@dir@ Pages",
        {
            "Pages.java": """import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.*;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.*;
public class Pages extends ChannelInitializer<SocketChannel> {
    static class Answer extends SimpleChannelInboundHandler<FullHttpRequest> {
        protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
            var text = (request.uri() + " " + Math.random() + " " + System.currentTimeMillis()).repeat(20);
            var answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(text.getBytes()));
            HttpUtil.setContentLength(answer, text.length());
            context.writeAndFlush(answer);
        }
    }
    protected void initChannel(SocketChannel channel) {
        channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(65536), new Answer());
    }
    public static void main(String[] arguments) throws Exception {
        new ServerBootstrap().group(new NioEventLoopGroup(1), new NioEventLoopGroup(2)).channel(NioServerSocketChannel.class)
            .childHandler(new Pages()).bind("127.0.0.1", @port@).sync();
    }
}
"""
        },
        [f"javac -cp {NETTY} -d @dir@ @dir@/Pages.java"],
    ),
    runtime("deno", "nodejs", "@tools@/node_modules/deno/deno run -A @dir@/server.js", {
        "server.js": "Deno.serve({ port: @port@, hostname: '127.0.0.1' }, (q) => new Response((q.url + Date.now() + Math.random()).repeat(20)));\n"
    }, environment={"DENO_DIR": "@state@", "DENO_NO_UPDATE_CHECK": "1"}, npm="deno"),
    runtime("bun", "nodejs", "@tools@/node_modules/bun/bin/bun.exe @dir@/server.js", {
        "server.js": "Bun.serve({ port: @port@, hostname: '127.0.0.1', fetch: (q) => new Response((q.url + Date.now() + Math.random()).repeat(20)) });\n"
    }, npm="bun"),
    runtime("node-cluster", "nodejs", "node @dir@/server.js", {
        "server.js": "const cluster = require('cluster');\nif (cluster.isPrimary) { cluster.fork(); cluster.fork(); process.on('SIGTERM', () => process.exit(0)); }\n"
        "else require('http').createServer((q, r) => r.end((q.url + Date.now() + Math.random()).repeat(20))).listen(@port@, '127.0.0.1');\n"
    }, flags="--follow-exec"),
    runtime("node-workers", "nodejs", "node @dir@/server.js", {
        "server.js": "const { Worker, isMainThread, parentPort } = require('worker_threads');\n"
        "if (isMainThread) {\n  const worker = new Worker(__filename), waiting = [];\n  worker.on('message', (text) => waiting.shift().end(text));\n"
        "  require('http').createServer((q, r) => { waiting.push(r); worker.postMessage(q.url); }).listen(@port@, '127.0.0.1');\n"
        "} else parentPort.on('message', (url) => parentPort.postMessage((url + Date.now() + Math.random()).repeat(20)));\n"
    }),
    runtime("erlang", "erlang-base", "escript @dir@/server.erl", {
        "server.erl": """#!/usr/bin/escript
main(_) -> {ok, L} = gen_tcp:listen(@port@, [binary, {ip, {127,0,0,1}}, {active, false}, {reuseaddr, true}, {backlog, 100}]), accept(L).
accept(L) -> {ok, S} = gen_tcp:accept(L), P = spawn(fun() -> receive go -> answer(S) end end), gen_tcp:controlling_process(S, P), P ! go, accept(L).
answer(S) -> case gen_tcp:recv(S, 0) of {ok, _} -> B = [io_lib:format("~p ~p ", [erlang:system_time(), rand:uniform()]) || _ <- lists:seq(1, 20)],
  gen_tcp:send(S, ["HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: ", integer_to_list(iolist_size(B)), "\\r\\n\\r\\n", B]), gen_tcp:close(S); _ -> gen_tcp:close(S) end.
"""
    }, environment={"ERL_FLAGS": "+S 2:2"}),
    runtime("elixir", "elixir", "elixir @dir@/server.exs", {
        "server.exs": """{:ok, l} = :gen_tcp.listen(@port@, [:binary, ip: {127, 0, 0, 1}, active: false, reuseaddr: true, backlog: 100])
accept = fn accept ->
  {:ok, s} = :gen_tcp.accept(l)
  {:ok, _} = :gen_tcp.recv(s, 0)
  b = String.duplicate("#{System.system_time()} #{:rand.uniform()} ", 20)
  :gen_tcp.send(s, "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: #{byte_size(b)}\\r\\n\\r\\n" <> b)
  :gen_tcp.close(s)
  accept.(accept)
end
accept.(accept)
"""
    }),
    runtime("mono", "mono-mcs mono-runtime libmono-system4.0-cil", "mono @dir@/server.exe", {
        "server.cs": """using System; using System.Net; using System.Text;
class S { static void Main() { var l = new HttpListener(); l.Prefixes.Add("http://127.0.0.1:@port@/"); l.Start(); var r = new Random();
  while (true) { var c = l.GetContext(); var s = new StringBuilder(); for (int i = 0; i < 20; i++) s.Append(c.Request.RawUrl + DateTime.Now.Ticks + r.NextDouble());
    var b = Encoding.UTF8.GetBytes(s.ToString()); c.Response.ContentLength64 = b.Length; c.Response.OutputStream.Write(b, 0, b.Length); c.Response.Close(); } } }
"""
    }, ["mcs -out:@dir@/server.exe @dir@/server.cs"]),
    runtime("guile", "guile-3.0", "guile --no-auto-compile @dir@/server.scm", {
        "server.scm": """(use-modules (web server) (web request) (web uri))
(set! *random-state* (random-state-from-platform))
(run-server (lambda (request body) (values '((content-type . (text/plain)))
  (string-append (uri-path (request-uri request)) (number->string (random 1.0)) (number->string (car (gettimeofday))))))
  'http '(#:port @port@ #:addr #x7f000001))
"""
    }),
    runtime("sbcl", "sbcl", "sbcl --script @dir@/server.lisp", {
        "server.lisp": """(require :sb-bsd-sockets)
(setf *random-state* (make-random-state t))
(let ((l (make-instance 'sb-bsd-sockets:inet-socket :type :stream :protocol :tcp)))
  (setf (sb-bsd-sockets:sockopt-reuse-address l) t)
  (sb-bsd-sockets:socket-bind l #(127 0 0 1) @port@)
  (sb-bsd-sockets:socket-listen l 100)
  (loop (let* ((s (sb-bsd-sockets:socket-accept l)) (st (sb-bsd-sockets:socket-make-stream s :input t :output t :buffering :full))
      (b (format nil "~a ~a ~a" (read-line st) (random 1.0) (get-universal-time))))
    (loop for line = (read-line st nil "") until (< (length line) 2))
    (format st "HTTP/1.1 200 OK~a~aConnection: close~a~aContent-Length: ~a~a~a~a~a~a" #\\Return #\\Newline #\\Return #\\Newline (length b) #\\Return #\\Newline #\\Return #\\Newline b)
    (finish-output st) (close st))))
"""
    }),
    runtime("ocaml", "ocaml-nox", "@dir@/server", {
        "server.ml": """let () = Random.self_init ();
  let l = Unix.socket Unix.PF_INET Unix.SOCK_STREAM 0 in
  Unix.setsockopt l Unix.SO_REUSEADDR true;
  Unix.bind l (Unix.ADDR_INET (Unix.inet_addr_loopback, @port@)); Unix.listen l 100;
  while true do let (s, _) = Unix.accept l in let q = Bytes.create 4096 in ignore (Unix.read s q 0 4096);
    let b = Printf.sprintf "%f %f" (Unix.gettimeofday ()) (Random.float 1.0) in
    let a = Printf.sprintf "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n%s" (String.length b) b in
    ignore (Unix.write_substring s a 0 (String.length a)); Unix.close s done
"""
    }, ["cd @dir@ && ocamlopt -I +unix unix.cmxa server.ml -o server"]),
    runtime("racket", "racket", "racket @dir@/server.rkt", {
        "server.rkt": """#lang racket/base
(require racket/tcp racket/port)
(define l (tcp-listen @port@ 100 #t "127.0.0.1"))
(let loop () (define-values (in out) (tcp-accept l))
  (thread (lambda () (let skip () (define line (read-line in 'any)) (unless (or (eof-object? line) (equal? line "")) (skip)))
    (define b (format "~a ~a" (current-inexact-milliseconds) (random)))
    (fprintf out "HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: ~a\\r\\n\\r\\n~a" (string-length b) b)
    (close-output-port out) (close-input-port in)))
  (loop))
"""
    }),
    runtime("r", "r-base-core r-cran-httpuv", "R --vanilla --no-echo -f @dir@/server.R", {
        "server.R": "library(httpuv)\nrunServer('127.0.0.1', @port@, list(call = function(q) list(status = 200L, headers = list('Content-Type' = 'text/plain'),\n"
        "  body = paste(q$PATH_INFO, format(as.numeric(Sys.time()), digits = 16), runif(1)))))\n"
    }),
    runtime("perl-prefork", "libhttp-daemon-perl", "perl @dir@/server.pl", {
        "server.pl": "use HTTP::Daemon; use HTTP::Response; use Time::HiRes 'time';\n"
        "my $d = HTTP::Daemon->new(LocalAddr => '127.0.0.1', LocalPort => @port@, ReuseAddr => 1, Listen => 50) or die;\n"
        "$SIG{TERM} = sub { exit 0 }; my @c; for (1..3) { my $p = fork; if (!$p) { srand; while (my $c = $d->accept) { while (my $r = $c->get_request) {\n"
        "  $c->send_response(HTTP::Response->new(200, 'OK', ['Connection' => 'close'], ($r->uri . time . rand) x 20)); last } $c->close } exit } push @c, $p }\n"
        "$SIG{TERM} = sub { kill 'TERM', @c; exit 0 }; sleep 1 while 1;\n"
    }),
    runtime("unicorn", "unicorn", "/usr/bin/unicorn -l 127.0.0.1:@port@ @dir@/config.ru", {
        "config.ru": "run lambda { |env| [200, {'Content-Type' => 'text/plain'}, [(env['PATH_INFO'] + Time.now.to_f.to_s + rand.to_s) * 20]] }\n"
    }),
    runtime("thin", "thin", "/usr/bin/thin start -a 127.0.0.1 -p @port@ -R @dir@/config.ru", {
        "config.ru": "run lambda { |env| [200, {'Content-Type' => 'text/plain'}, [(env['PATH_INFO'] + Time.now.to_f.to_s + rand.to_s) * 20]] }\n"
    }),
    runtime("uvicorn-workers", "uvicorn", "/usr/bin/uvicorn --host 127.0.0.1 --port @port@ --workers 2 --no-access-log app:app", {"app.py": ASGI_APP}, flags="--follow-exec"),
    runtime("hypercorn", "python3-hypercorn", "/usr/bin/python3 -m hypercorn -b 127.0.0.1:@port@ app:app", {"app.py": ASGI_APP}, flags="--follow-exec"),
    runtime("gunicorn-threads", "gunicorn", "/usr/bin/gunicorn -b 127.0.0.1:@port@ -w 1 --threads 4 --worker-tmp-dir @state@ app:app", {"app.py": PYTHON_APP}),
    runtime("waitress", "python3-waitress", "/usr/bin/python3 -m waitress --listen=127.0.0.1:@port@ app:app", {"app.py": PYTHON_APP}),
    runtime("aiohttp", "python3-aiohttp", "/usr/bin/python3 @dir@/server.py", {
        "server.py": "import time, random\nfrom aiohttp import web\nasync def answer(request):\n    return web.Response(text=(request.path + str(time.time()) + str(random.random())) * 20)\n"
        "app = web.Application()\napp.router.add_get('/{tail:.*}', answer)\nweb.run_app(app, host='127.0.0.1', port=@port@, print=None)\n"
    }),
    runtime("tornado", "python3-tornado", "/usr/bin/python3 @dir@/server.py", {
        "server.py": "import time, random, tornado.ioloop, tornado.web\nclass H(tornado.web.RequestHandler):\n    def get(self):\n        self.write((self.request.path + str(time.time()) + str(random.random())) * 20)\n"
        "tornado.web.Application([('/.*', H)]).listen(@port@, '127.0.0.1')\ntornado.ioloop.IOLoop.current().start()\n"
    }),
    runtime("twisted", "python3-twisted", "/usr/bin/python3 @dir@/server.py", {
        "server.py": "import time, random\nfrom twisted.web import server, resource\nfrom twisted.internet import reactor\nclass R(resource.Resource):\n    isLeaf = True\n    def render_GET(self, q):\n"
        "        return q.uri + (str(time.time()) + str(random.random())).encode() * 20\nreactor.listenTCP(@port@, server.Site(R()), interface='127.0.0.1')\nreactor.run()\n"
    }),
    runtime("cherrypy", "python3-cherrypy3", "/usr/bin/python3 @dir@/server.py", {
        "server.py": "import time, random, cherrypy\nclass R:\n    @cherrypy.expose\n    def default(self, *a, **k):\n        return (str(a) + str(time.time()) + str(random.random())) * 20\n"
        "cherrypy.config.update({'server.socket_host': '127.0.0.1', 'server.socket_port': @port@, 'engine.autoreload.on': False, 'log.screen': False})\ncherrypy.quickstart(R())\n"
    }),
    runtime("pypy", "pypy3", "pypy3 @dir@/server.py", {
        "server.py": "import time, random\nfrom http.server import BaseHTTPRequestHandler, ThreadingHTTPServer\nclass H(BaseHTTPRequestHandler):\n    def log_message(self, *a): pass\n    def do_GET(self):\n"
        "        b = (self.path + str(time.time()) + str(random.random())).encode() * 20\n        self.send_response(200)\n        self.send_header('Content-Length', str(len(b)))\n        self.end_headers()\n        self.wfile.write(b)\n"
        "ThreadingHTTPServer(('127.0.0.1', @port@), H).serve_forever()\n"
    }),
    runtime("lua", "lua5.3 lua-socket", "lua5.3 @dir@/server.lua", {
        "server.lua": "local socket = require 'socket'\nmath.randomseed(socket.gettime() * 1000)\nlocal l = assert(socket.bind('127.0.0.1', @port@))\nwhile true do\n  local c = l:accept()\n  c:settimeout(1)\n  local q = c:receive()\n"
        "  while q do local h = c:receive() if not h or h == '' then break end end\n  local b = (tostring(q) .. socket.gettime() .. math.random()):rep(20)\n"
        "  c:send('HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: ' .. #b .. '\\r\\n\\r\\n' .. b)\n  c:close()\nend\n"
    }),
    runtime("tcl", "tcl", "tclsh @dir@/server.tcl", {
        "server.tcl": "proc answer {c a p} { fconfigure $c -translation crlf -blocking 0; fileevent $c readable [list line $c] }\n"
        "proc line {c} { if {[gets $c l] < 0} { if {[eof $c]} { close $c }; return }\n  if {$l eq {}} { set b [string repeat \"[clock microseconds] [expr rand()] \" 20]\n"
        "    puts -nonewline $c \"HTTP/1.1 200 OK\\nConnection: close\\nContent-Length: [string length $b]\\n\\n$b\"; close $c } }\n"
        "socket -server answer -myaddr 127.0.0.1 @port@\nvwait forever\n"
    }),
    runtime("prolog", "swi-prolog-nox", "swipl @dir@/server.pl", {
        "server.pl": ":- use_module(library(http/thread_httpd)).\n:- use_module(library(http/http_dispatch)).\n:- http_handler(root(.), answer, [prefix]).\n"
        "answer(_) :- get_time(T), X is random_float, format('Content-type: text/plain~n~n'), forall(between(1, 20, _), format('~w ~w ', [T, X])).\n"
        ":- initialization((http_server(http_dispatch, [port(localhost:@port@)]), thread_get_message(stop))).\n"
    }),
    runtime("nim", "nim", "@dir@/server", {
        "server.nim": "import std/[asynchttpserver, asyncdispatch, times, random, strutils]\nrandomize()\nproc main {.async.} =\n  var server = newAsyncHttpServer()\n"
        "  proc answer(q: Request) {.async.} =\n    await q.respond(Http200, repeat(q.url.path & $epochTime() & $rand(1.0), 20))\n  await server.serve(Port(@port@), answer, \"127.0.0.1\")\nwaitFor main()\n"
    }, ["cd @dir@ && nim c --hints:off --nimcache:@dir@/cache -d:release server.nim"]),
    runtime("pike", "pike8.0-core", "pike8.0 @dir@/server.pike", {
        "server.pike": "int main() { object l = Stdio.Port(@port@, 0, \"127.0.0.1\"); while (object c = l->accept()) { c->read(4000, 1);\n"
        "  string b = sprintf(\"%d %f \", gethrtime(), random(1.0)) * 20; c->write(\"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n%s\", sizeof(b), b); c->close(); } }\n"
    }),
    runtime("gawk", "gawk", "gawk -f @dir@/server.awk", {
        "server.awk": "BEGIN { srand(); RS = ORS = \"\\r\\n\"; s = \"/inet/tcp/@port@/0/0\"; while (1) { while ((s |& getline q) > 0 && q != \"\");\n"
        "  b = \"\"; for (i = 0; i < 20; i++) b = b systime() \" \" rand() \" \"; print \"HTTP/1.1 200 OK\" |& s; print \"Connection: close\" |& s; print \"Content-Length: \" length(b) |& s; print \"\" |& s; printf \"%s\", b |& s; close(s) } }\n"
    }),
    runtime("clisp", "clisp", "clisp -q @dir@/server.lisp", {
        "server.lisp": """(setf *random-state* (make-random-state t))
(let ((l (socket:socket-server @port@ :interface "127.0.0.1" :backlog 100)))
  (loop (let* ((s (socket:socket-accept l :external-format :dos)) (b (format nil "~a ~a ~a" (read-line s) (random 1.0) (get-internal-real-time))))
    (loop for line = (read-line s nil "") until (< (length line) 2))
    (format s "HTTP/1.1 200 OK~%Connection: close~%Content-Length: ~a~%~%~a" (length b) b) (finish-output s) (close s))))
"""
    }),
    runtime("php-cli", "php8.2-cli", "php8.2 -S 127.0.0.1:@port@ @dir@/index.php", {
        "index.php": "<?php echo str_repeat($_SERVER['REQUEST_URI'] . microtime(true) . mt_rand() . bin2hex(random_bytes(8)), 20);\n"
    }, environment={"PHP_CLI_SERVER_WORKERS": "3"}),
    runtime("webfs", "webfs", "/usr/bin/webfsd -F -p @port@ -i 127.0.0.1 -r @dir@/site", {"site/a": "page\n" * 60}, ["for n in $(seq 0 999); do ln -s a @dir@/site/$n; done"]),
]

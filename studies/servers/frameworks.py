"""Web frameworks, proxies and small servers of one purpose: rows like those of `servers.py`."""

from loads import dns, lines, origin, pages, programs, together
from rows import Server

SITE = {"site/index.html": "small page\n" * 60, "site/empty.txt": "", "site/big.txt": "a line of a big page\n" * 5000}
PATHS = ("/index.html", "/empty.txt", "/big.txt", "/missing", "/index.html?@n@")
# Pages that a program computes for each request.
ANSWERS = pages(("/@n@", "/a"), statuses=(200,))
NEW_EACH = pages(("/@n@", "/a"), statuses=(200,), keep_alive=False)
BODY = "(path + str(time.time()) + str(random.random())) * 20"
ZONE = "$ORIGIN prony.test.\n$TTL 300\n@ IN SOA ns hostmaster 1 3600 600 86400 300\n@ IN NS ns\nns IN A 127.0.0.1\nwww IN A 10.0.0.1\n" + "".join(
    f"host{n} IN A 10.0.1.{n}\n" for n in range(50)
)
NAMES = ["host@n@.prony.test", "www.prony.test", "missing.prony.test"]


def python(name, packages, program, load=ANSWERS, **more):
    text = "import random, time\n" + program.replace("BODY", BODY)
    return Server(name, "web", packages, "/usr/bin/python3 @dir@/server.py", load, files={"server.py": text}, **more)


FRAMEWORKS = [
    Server("busybox-httpd", "web", "busybox", "/usr/bin/busybox httpd -f -p 127.0.0.1:@port@ -h @dir@/site", pages(PATHS, keep_alive=False), files=SITE),
    Server("python-http", "web", "python3", "/usr/bin/python3 -m http.server @port@ --bind 127.0.0.1 --directory @dir@/site", pages(PATHS, keep_alive=False), files=SITE),
    python("flask", "python3-flask", """from flask import Flask
application = Flask('prony')
@application.route('/<path>')
def page(path):
    return BODY
application.run(host='127.0.0.1', port=@port@)
""", load=NEW_EACH),
    python("gevent", "python3-gevent", """from gevent.pywsgi import WSGIServer
def page(environ, start):
    path = environ['PATH_INFO']
    start('200 OK', [('Content-Type', 'text/plain')])
    return [(BODY).encode()]
WSGIServer(('127.0.0.1', @port@), page, log=None).serve_forever()
"""),
    python("eventlet", "python3-eventlet", """import eventlet
from eventlet import wsgi
def page(environ, start):
    path = environ['PATH_INFO']
    start('200 OK', [('Content-Type', 'text/plain')])
    return [(BODY).encode()]
wsgi.server(eventlet.listen(('127.0.0.1', @port@)), page, log_output=False)
"""),
    python("asyncio", "python3", """import asyncio
async def answer(reader, writer):
    while (line := await reader.readline()):
        path = line.decode().split()[1]
        while (await reader.readline()).strip():
            pass
        body = (BODY).encode()
        writer.write(b'HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(body) + body)
        await writer.drain()
    writer.close()
async def main():
    async with await asyncio.start_server(answer, '127.0.0.1', @port@) as server:
        await server.serve_forever()
asyncio.run(main())
"""),
    Server("mojolicious", "web", "libmojolicious-perl", "/usr/bin/perl @dir@/server.pl daemon -l http://127.0.0.1:@port@", NEW_EACH, files={
        "server.pl": "use Mojolicious::Lite -signatures;\nget '/:name' => sub ($c) { my $part = $c->param('name') . time() . rand(); $c->render(text => $part x 20) };\napp->log->level('fatal');\napp->start;\n"
    }),
    Server("plack", "web", "libplack-perl", "/usr/bin/plackup --host 127.0.0.1 --port @port@ --env none @dir@/app.psgi", NEW_EACH, files={
        "app.psgi": "my $app = sub { my $e = shift; [200, ['Content-Type' => 'text/plain'], [($e->{PATH_INFO} . time . rand) x 20]] };\n"
    }),
    Server("nghttpd", "web", "nghttp2-server nghttp2-client", "/usr/sbin/nghttpd --no-tls -d @dir@/site @port@", programs("nghttp -n http://127.0.0.1:@port@/index.html http://127.0.0.1:@port@/big.txt", clients=3), files=SITE),
    Server("nghttpx", "web", "nghttp2-proxy", "/usr/sbin/nghttpx --conf=/dev/null -f127.0.0.1,@port@;no-tls -b127.0.0.1,@other@ --workers=1 --single-process", together(origin(), pages(PATHS))),
    Server("sslh", "web", "sslh", "/usr/sbin/sslh -f -u root -p 127.0.0.1:@port@ --http 127.0.0.1:@other@", together(origin(), pages(PATHS, keep_alive=False))),
    Server("socat", "web", "socat", "/usr/bin/socat TCP-LISTEN:@port@,bind=127.0.0.1,reuseaddr,fork TCP:127.0.0.1:@other@", together(origin(), pages(PATHS, keep_alive=False))),
    Server("rinetd", "web", "rinetd", "/usr/sbin/rinetd -f -c @dir@/rinetd.conf", together(origin(), pages(PATHS, keep_alive=False)), files={"rinetd.conf": "127.0.0.1 @port@ 127.0.0.1 @other@\n"}),
    Server("apache-worker", "web", "apache2-bin", "/usr/sbin/apache2 -D FOREGROUND -f @dir@/apache.conf", pages(PATHS), files=SITE | {
        "apache.conf": "ServerRoot @state@\nListen 127.0.0.1:@port@\nPidFile @state@/pid\nErrorLog @state@/errors\nServerName prony.test\nDocumentRoot @dir@/site\n"
        "LoadModule mpm_worker_module /usr/lib/apache2/modules/mod_mpm_worker.so\nLoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n"
        "StartServers 1\nThreadsPerChild 8\nUser www-data\nGroup www-data\n"
    }, prepare=["chmod -R a+rX @dir@"]),
    Server("pdns-recursor", "names", "pdns-recursor", "/usr/sbin/pdns_recursor --config-dir=@dir@ --local-address=127.0.0.1 --local-port=@port@ --auth-zones=prony.test=@dir@/zone --socket-dir=@state@ --daemon=no --threads=1 --setuid= --setgid=", dns(NAMES), files={"recursor.conf": "", "zone": ZONE}),
    Server("pyftpdlib", "files", "python3-pyftpdlib curl", "/usr/bin/python3 -m pyftpdlib -i 127.0.0.1 -p @port@ -d @dir@/site", programs("curl -s ftp://127.0.0.1:@port@/big.txt -o /dev/null && curl -s ftp://127.0.0.1:@port@/ -o /dev/null", clients=2), files=SITE),
    Server("opentracker", "network", "opentracker", "/usr/bin/opentracker -i 127.0.0.1 -p @port@ -P @port@ -d @state@", pages(("/announce?info_hash=aaaaaaaaaaaaaaaaaaaa&peer_id=-TR3000-000000000000&port=6@n@&uploaded=0&downloaded=0&left=9&compact=1",), statuses=(200,), keep_alive=False)),
    Server("redis-sentinel", "store", "redis-sentinel", "/usr/bin/redis-sentinel @state@/sentinel.conf --port @port@", lines([("PING", "\\+PONG"), ("SENTINEL masters", "\\*0"), ("INFO server", "executable")], end=b"\r\n"), files={"state/sentinel.conf": "bind 127.0.0.1\nprotected-mode no\n"}),
    Server("mpd", "network", "mpd", "/usr/bin/mpd --no-daemon @dir@/mpd.conf", lines([("ping", "OK\n"), ("stats", "OK\n"), ("status", "OK\n")], greeting=True), files={"mpd.conf": 'bind_to_address "127.0.0.1"\nport "@port@"\nplaylist_directory "@state@"\ndb_file "@state@/db"\nlog_file "@state@/log"\naudio_output {\n type "null"\n name "none"\n}\n'}),
]

"""The servers: one row each. `@port@`, `@other@` (a second port), `@dir@` and `@state@` are filled in."""

import games
from frameworks import FRAMEWORKS
from loads import datagrams, dns, helper, lines, origin, pages, programs, together
from rows import Server
from runtimes import RUNTIMES


SITE = {"site/index.html": "small page\n" * 60, "site/empty.txt": "", "site/big.txt": "a line of a big page\n" * 5000}
PATHS = ("/index.html", "/", "/empty.txt", "/big.txt", "/missing", "/index.html?@n@")
ROOT_CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=prony.test -keyout @dir@/key.pem -out @dir@/cert.pem"
)

GODOT_PROJECT = 'config_version=4\n[application]\nconfig/name="prony"\nrun/main_scene="res://main.tscn"\n[debug]\nsettings/stdout/print_fps=false\n'
GODOT_SCENE = '[gd_scene load_steps=2 format=2]\n[ext_resource path="res://main.gd" type="Script" id=1]\n[node name="main" type="Node2D"]\nscript = ExtResource( 1 )\n'
# Balls that fall into a box and meet, told line by line to whoever asks.
GODOT_SCRIPT = """extends Node2D
var server = TCP_Server.new()
var peers = []
var balls = []
func wall(place, turn):
	var body = StaticBody2D.new()
	var shape = CollisionShape2D.new()
	shape.shape = LineShape2D.new()
	body.rotation = turn
	body.position = place
	body.add_child(shape)
	add_child(body)
func throw(number):
	var body = RigidBody2D.new()
	var shape = CollisionShape2D.new()
	shape.shape = CircleShape2D.new()
	body.add_child(shape)
	body.position = Vector2(50 + randi() % 400, 20)
	body.linear_velocity = Vector2(rand_range(-200, 200), number % 100)
	add_child(body)
	balls.append(body)
	if balls.size() > 60:
		balls.pop_front().queue_free()
func _ready():
	randomize()
	wall(Vector2(0, 500), 0)
	wall(Vector2(0, 0), PI / 2)
	wall(Vector2(500, 0), -PI / 2)
	server.listen(@port@, "127.0.0.1")
func _physics_process(_delta):
	while server.is_connection_available():
		peers.append([server.take_connection(), ""])
	for peer in peers:
		var bytes = peer[0].get_available_bytes()
		if bytes <= 0:
			continue
		peer[1] += peer[0].get_utf8_string(bytes)
		while "\\n" in peer[1]:
			var line = peer[1].split("\\n", true, 1)
			peer[1] = line[1]
			if line[0].begins_with("throw"):
				throw(int(line[0].split(" ")[1]))
			var told = str(OS.get_ticks_msec())
			for ball in balls:
				told += " " + str(ball.position)
			peer[0].put_data((told + "\\n").to_utf8())
"""

GAMES = [
    Server(
        "teeworlds",
        "game",
        "teeworlds-server",
        "/usr/games/teeworlds-server -f server.cfg",
        games.teeworlds(6),
        files={"server.cfg": "bindaddr 127.0.0.1\nsv_port @port@\nsv_register 0\nsv_map dm1\nsv_max_clients_per_ip 16\n"},
        environment={"HOME": "@state@"},
    ),
    Server(
        "ddnet",
        "game",
        "ddnet-server",
        'cd @state@ && exec /usr/games/DDNet-Server "sv_port @port@; sv_register 0; sv_map dm1; sv_max_clients_per_ip 16"',
        games.teeworlds(6, version="0.6"),
        shell=True,
    ),
    Server(
        "openarena",
        "game",
        "openarena-server ioquake3-server",
        "/usr/lib/ioquake3/ioq3ded +set com_basegame baseoa +set com_legacyprotocol 71 +set com_protocol 71 +set fs_basepath /usr/lib/openarena-server"
        " +set fs_homepath @state@ +set dedicated 1 +set net_ip 127.0.0.1 +set net_port @port@ +set sv_maxclients 16 +set sv_master1 @none@"
        " +set sv_pure 0 +set sv_floodProtect 0 +map oa_dm1 +exec bots.cfg",
        games.quake3(2),
        files={"state/baseoa/bots.cfg": "".join(f"addbot {bot} 3\n" for bot in ["sarge", "grunt", "major", "angelyss", "arachna", "ayumi"])},
        seconds=8,
    ),
    Server(
        "minetest",
        "game",
        "minetest-server",
        "/usr/games/minetestserver --config @dir@/minetest.conf --world @state@/world --port @port@ --logfile @state@/log",
        games.minetest(2),
        seconds=8,
        environment={"MINETEST_SUBGAME_PATH": "/usr/share/games/minetest/games"},
        files={
            "minetest.conf": "bind_address = 127.0.0.1\nserver_announce = false\nfixed_map_seed = 4711\nmg_name = v7\nenable_damage = true\n"
            "default_game = minetest_game\ndefault_privs = interact, shout, fly, fast, noclip, give\n"
        },
    ),
    Server(
        "sauerbraten",
        "game",
        "cube2-server python3-enet",
        "/usr/games/cube2-server -q@state@ -i127.0.0.1 -j@port@ -c16",
        games.sauerbraten(4),
    ),
    Server(
        "bzflag",
        "game",
        "bzflag-server",
        "/usr/games/bzfs -i 127.0.0.1 -p @port@ -h -j +s 20 -ms 5 -q -density 5 -noMasterBanlist",
        games.bzflag(6),
    ),
    Server(
        "freeciv",
        "game",
        "freeciv-server",
        "/usr/games/freeciv-server --bind 127.0.0.1 --port @port@ --read @dir@/game.serv --saves @state@ --log @state@/log --exit-on-end --Announce none",
        games.freeciv(),
        user="games",
        seconds=10,
        files={"game.serv": "set aifill 6\nset timeout 1\nset minplayers 0\nset mapseed 5\nset gameseed 5\nset endspaceship disabled\nset size 2\nhard\nset nationset all\nstart\n"},
    ),
    Server(
        "wesnoth",
        "game",
        "wesnoth-1.16-server",
        "/usr/games/wesnothd-1.16 -p @port@ -c @dir@/wesnothd.cfg",
        games.wesnoth(6),
        files={"wesnothd.cfg": "max_messages=10000\nmessages_time_period=1\nconnections_allowed=50\n"},
    ),
    Server(
        "crossfire",
        "game",
        "crossfire-server crossfire-maps",
        "/usr/sbin/crossfire-server -p @port@ -local @state@",
        games.crossfire(3),
        user="games",
        prepare=["cp -r /var/games/crossfire/. @state@/"],
    ),
    Server(
        "openttd",
        "game",
        "openttd openttd-opengfx",
        "/usr/games/openttd -D 127.0.0.1:@port@ -g -G 4711 -c @state@/openttd.cfg",
        games.openttd(),
        files={"state/openttd.cfg": "[network]\nadmin_password = prony\nserver_admin_port = @other@\nserver_game_type = local\n[difficulty]\nmax_no_competitors = 0\n", "state/secrets.cfg": "[network]\nadmin_password = prony\n"},
        stdin="",
    ),
    Server(
        "hedgewars",
        "game",
        "hedgewars",
        "/usr/lib/hedgewars/bin/hedgewars-server -p @port@",
        games.hedgewars(2),
    ),
    Server(
        "pioneers",
        "game",
        "pioneers-console",
        "/usr/games/pioneers-server-console -p @port@ -P 4 -v 10 -x -R 0 -g Default",
        programs("/usr/games/pioneersai -s 127.0.0.1 -p @port@ -t 20 -n player$$", clients=4, may_fail=True, until_ready="true"),
        seconds=12,
    ),
    Server(
        "tetrinet-server",
        "game",
        "tetrinet-server",
        "/usr/games/tetrinet-server",
        games.tetrinet(4),
        port=31457,
    ),
    Server(
        "tinymux",
        "game",
        "tinymux",
        "cd @state@; exec /usr/lib/tinymux/game/bin/netmux -c netmux.conf -p netmux.pid",
        games.mud(5),
        shell=True,
        environment={"LD_LIBRARY_PATH": "/usr/lib/tinymux/game/bin"},
        prepare=["cp -rL /usr/share/tinymux/game/. @state@/; ln -sfn /usr/lib/tinymux/game/bin @state@/bin; sed -i 's/^port .*/port @port@/' @state@/netmux.conf"],
    ),
    Server("monopd", "game", "monopd", "/usr/sbin/monopd", games.monopd(4), port=1234),
    Server(
        "godot",
        "game",
        "godot3-server",
        "/usr/bin/godot3-server --path @dir@/project",
        games.godot(4),
        files={"project/project.godot": GODOT_PROJECT, "project/main.tscn": GODOT_SCENE, "project/main.gd": GODOT_SCRIPT},
    ),
    Server("gnugo", "game", "gnugo", "/usr/games/gnugo --mode gtp --gtp-listen 127.0.0.1:@port@ --level 4 --seed 7", games.gnugo()),
]

STORES = [
    Server(
        "redis",
        "store",
        "redis-server redis-tools",
        "/usr/bin/redis-server --port @port@ --dir @state@ --bind 127.0.0.1",
        programs("redis-benchmark -p @port@ -c 8 -n 500 -r 500 -q", pause=0.1, until_ready="redis-cli -p @port@ ping"),
        seconds=5,
    ),
    Server(
        "memcached",
        "store",
        "memcached",
        "/usr/bin/memcached -u root -p @port@ -l 127.0.0.1 -t 4",
        lines([("set k@n@ 0 0 5\r\nhello", "STORED\r\n"), ("get k1 k2 k1000001", "END\r\n"), ("stats", "END\r\n")], end=b"\r\n"),
        state=False,
    ),
    Server(
        "postgresql",
        "store",
        "postgresql-15 postgresql-contrib",
        "/usr/lib/postgresql/15/bin/postgres -D @state@/data -k @dir@ -p @port@ -h 127.0.0.1 -c fsync=off",
        programs("/usr/lib/postgresql/15/bin/pgbench -h 127.0.0.1 -p @port@ -U postgres -c 4 -T 2 postgres", until_ready="/usr/lib/postgresql/15/bin/pgbench -h 127.0.0.1 -p @port@ -U postgres -i -q postgres"),
        prepare=["/usr/lib/postgresql/15/bin/initdb -D @state@/data -U postgres -A trust"],
        user="postgres",
        interrupt=True,
        seconds=7,
    ),
    Server(
        "mariadb",
        "store",
        "mariadb-server",
        "/usr/sbin/mariadbd --no-defaults --user=mysql --datadir=@state@/data --socket=@dir@/sock --port=@port@ --bind-address=127.0.0.1 --innodb-buffer-pool-size=16M --skip-grant-tables --innodb-flush-method=fsync --innodb-use-native-aio=0",
        programs("mysqlslap --protocol=tcp -h 127.0.0.1 -P @port@ -u root -a -c 4 --number-of-queries=400", until_ready="mysqladmin --protocol=tcp -h 127.0.0.1 -P @port@ -u root ping"),
        prepare=["mysql_install_db --no-defaults --user=mysql --datadir=@state@/data --auth-root-authentication-method=normal"],
        user="mysql",
    ),
    Server(
        "beanstalkd",
        "store",
        "beanstalkd",
        "/usr/bin/beanstalkd -l 127.0.0.1 -p @port@",
        lines([("put 1 0 60 21\r\ntwenty letters of job", "INSERTED.*\n"), ("stats", "\r\n.*: .*\r\n|\n\r\n"), ("list-tubes", "default\n\r\n"), ("reserve-with-timeout 0", "job\r\n|TIMED_OUT\r\n")], end=b"\r\n"),
    ),
    Server(
        "gearman",
        "store",
        "gearman-job-server",
        "/usr/sbin/gearmand --listen=127.0.0.1 --port=@port@ --log-file=none --threads=2",
        lines([("status", "\\.\n"), ("workers", "\\.\n"), ("maxqueue prony 10", "\n"), ("create function f@n@", "\n")]),
        state=False,
    ),
    Server(
        "tarantool",
        "store",
        "tarantool",
        "/usr/bin/tarantool @dir@/init.lua",
        lines([("box.space.t:replace{@n@, 'text of a tuple'}", "\\.\\.\\.\n"), ("box.space.t:count()", "\\.\\.\\.\n"), ("box.space.t:select({}, {limit = 20})", "\\.\\.\\.\n")], greeting=True),
        files={"init.lua": "box.cfg{work_dir='@state@', memtx_memory=33554432}\nbox.schema.space.create('t', {if_not_exists=true})\nbox.space.t:create_index('p', {if_not_exists=true})\nrequire('console').listen('127.0.0.1:@port@')\n"},
    ),
    Server(
        "openldap",
        "store",
        "slapd ldap-utils",
        "/usr/sbin/slapd -f @dir@/slapd.conf -h ldap://127.0.0.1:@port@ -d 0",
        programs("ldapsearch -x -H ldap://127.0.0.1:@port@ -b dc=prony -D cn=admin,dc=prony -w secret '(objectClass=*)'", clients=3),
        files={
            "slapd.conf": "include /etc/ldap/schema/core.schema\nmodulepath /usr/lib/ldap\nmoduleload back_mdb\ndatabase mdb\nsuffix dc=prony\nrootdn cn=admin,dc=prony\nrootpw secret\ndirectory @state@\nmaxsize 16777216\n",
            "data.ldif": "dn: dc=prony\nobjectClass: dcObject\nobjectClass: organization\no: prony\ndc: prony\n\n" + "".join(f"dn: cn=person{n},dc=prony\nobjectClass: person\ncn: person{n}\nsn: name{n}\n\n" for n in range(60)),
        },
        prepare=["/usr/sbin/slapadd -f @dir@/slapd.conf -l @dir@/data.ldif"],
    ),
    Server(
        "mosquitto",
        "messages",
        "mosquitto mosquitto-clients",
        "/usr/sbin/mosquitto -p @port@",
        helper(
            "mosquitto_sub -p @port@ -t 'a/#' -q 1; sleep 1; mosquitto_sub -p @port@ -t 'a/#' -q 1",
            programs("seq 200 | sed 's/$/ some words of a message/' | mosquitto_pub -p @port@ -t a/b -q 1 -l", clients=2),
        ),
        state=False,
    ),
    Server("nats", "messages", "nats-server", "/usr/sbin/nats-server -a 127.0.0.1 -p @port@", lines([("PING", "PONG")], end=b"\r\n"), state=False),
]

# Pages that a program makes anew each time.
ANSWERS = pages(("/@n@", "/a", "/b?c=d"), statuses=(200,))

WEB = [
    Server(
        "nginx",
        "web",
        "nginx-light",
        "/usr/sbin/nginx -p @state@ -e stderr -c @dir@/nginx.conf",
        pages(PATHS),
        files=SITE
        | {
            "nginx.conf": "daemon off; worker_processes 2; pid @state@/pid; error_log stderr; user root;\nevents {}\nhttp { access_log @state@/access.log;\n"
            "client_body_temp_path @state@/b; proxy_temp_path @state@/p; fastcgi_temp_path @state@/f; uwsgi_temp_path @state@/u; scgi_temp_path @state@/s;\n"
            "server { listen 127.0.0.1:@port@; root @dir@/site; } }\n"
        },
    ),
    Server(
        "apache-prefork",
        "web",
        "apache2-bin",
        "/usr/sbin/apache2 -D FOREGROUND -f @dir@/apache.conf",
        pages(PATHS),
        files=SITE
        | {
            "apache.conf": "ServerRoot @state@\nListen 127.0.0.1:@port@\nPidFile @state@/pid\nErrorLog @state@/errors\nServerName prony.test\nDocumentRoot @dir@/site\n"
            "LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so\nLoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n"
            "StartServers 3\nUser www-data\nGroup www-data\n"
        },
    ),
    Server(
        "apache-event",
        "web",
        "apache2-bin",
        "/usr/sbin/apache2 -D FOREGROUND -f @dir@/apache.conf",
        pages(PATHS),
        files=SITE
        | {
            "apache.conf": "ServerRoot @state@\nListen 127.0.0.1:@port@\nPidFile @state@/pid\nErrorLog @state@/errors\nServerName prony.test\nDocumentRoot @dir@/site\n"
            "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\nLoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n"
            "StartServers 1\nThreadsPerChild 8\nUser www-data\nGroup www-data\n"
        },
    ),
    Server(
        "lighttpd",
        "web",
        "lighttpd",
        "/usr/sbin/lighttpd -D -f @dir@/lighttpd.conf",
        pages(PATHS),
        files=SITE | {"lighttpd.conf": 'server.document-root = "@dir@/site"\nserver.port = @port@\nserver.bind = "127.0.0.1"\nindex-file.names = ("index.html")\n'},
    ),
    Server(
        "h2o",
        "web",
        "h2o",
        "/usr/bin/h2o -c @dir@/h2o.conf",
        pages(PATHS),
        files=SITE | {"h2o.conf": "listen:\n  host: 127.0.0.1\n  port: @port@\nuser: root\nnum-threads: 2\nhosts:\n  default:\n    paths:\n      /:\n        file.dir: @dir@/site\n"},
    ),
    Server(
        "mini-httpd",
        "web",
        "mini-httpd",
        "/usr/sbin/mini_httpd -D -h 127.0.0.1 -p @port@ -d @dir@/site -u root -l @state@/log -i @state@/pid",
        pages(PATHS, keep_alive=False),
        files=SITE,
    ),
    Server(
        "haproxy",
        "web",
        "haproxy",
        "/usr/sbin/haproxy -f @dir@/haproxy.cfg",
        together(origin(), pages(PATHS)),
        files={"haproxy.cfg": "global\n  nbthread 1\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 9s\n  timeout server 9s\nlisten web\n  bind 127.0.0.1:@port@\n  server one 127.0.0.1:@other@\n"},
    ),
    Server(
        "varnish",
        "web",
        "varnish gcc libc6-dev",
        "/usr/sbin/varnishd -F -a 127.0.0.1:@port@ -b 127.0.0.1:@other@ -n @state@ -s malloc,32m",
        together(origin(), pages(PATHS)),
        flags="--follow-exec",
    ),
    Server(
        "squid",
        "web",
        "squid",
        "/usr/sbin/squid -N -f @dir@/squid.conf",
        together(origin(), pages(PATHS, proxy="http://127.0.0.1:@other@")),
        files={"squid.conf": "http_port 127.0.0.1:@port@\nhttp_access allow all\ncache_log @state@/cache.log\naccess_log stdio:@state@/access.log\npid_filename @state@/pid\ncoredump_dir @state@\nshutdown_lifetime 1 seconds\npinger_enable off\ncache_mem 8 MB\n"},
        user="proxy",
    ),
    Server(
        "tinyproxy",
        "web",
        "tinyproxy-bin",
        "/usr/bin/tinyproxy -d -c @dir@/tinyproxy.conf",
        together(origin(), pages(PATHS, proxy="http://127.0.0.1:@other@", keep_alive=False)),
        files={"tinyproxy.conf": "Port @port@\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\nLogFile \"@state@/log\"\nAllow 127.0.0.1\n"},
    ),
    Server(
        "stunnel",
        "web",
        "stunnel4 openssl curl",
        "/usr/bin/stunnel4 @dir@/stunnel.conf",
        together(origin(), programs("curl -sk https://127.0.0.1:@port@/ -o /dev/null --max-time 5", clients=3)),
        files={"stunnel.conf": "foreground = yes\npid =\nkey = @dir@/key.pem\ncert = @dir@/cert.pem\n[web]\naccept = 127.0.0.1:@port@\nconnect = 127.0.0.1:@other@\n"},
        prepare=[ROOT_CERTIFICATE],
    ),
    Server(
        "hitch",
        "web",
        "hitch openssl curl",
        "/usr/sbin/hitch -f [127.0.0.1]:@port@ -b [127.0.0.1]:@other@ -n 1 --user=nobody @dir@/both.pem",
        together(origin(), programs("curl -sk https://127.0.0.1:@port@/ -o /dev/null --max-time 5", clients=3)),
        prepare=[ROOT_CERTIFICATE + " && cat key.pem cert.pem > both.pem"],
    ),
    Server(
        "gunicorn",
        "web",
        "gunicorn",
        "/usr/bin/gunicorn -b 127.0.0.1:@port@ -w 2 --worker-tmp-dir @state@ app:app",
        ANSWERS,
        files={"app.py": "import time, random, hashlib\ndef app(environ, start_response):\n    body = (environ['PATH_INFO'] + str(time.time()) + str(random.random()) + hashlib.sha256(environ['QUERY_STRING'].encode()).hexdigest()).encode() * 20\n    start_response('200 OK', [('Content-Length', str(len(body)))])\n    return [body]\n"},
    ),
    Server(
        "puma",
        "web",
        "puma",
        "/usr/bin/puma -b tcp://127.0.0.1:@port@ -t 2:4 @dir@/config.ru",
        ANSWERS,
        files={"config.ru": "require 'digest'\nrun lambda { |env| [200, {'Content-Type' => 'text/plain'}, [(env['PATH_INFO'] + Time.now.to_f.to_s + rand.to_s + Digest::SHA256.hexdigest(env['QUERY_STRING'])) * 20]] }\n"},
    ),
    Server(
        "webrick",
        "web",
        "ruby-webrick ruby",
        "/usr/bin/ruby @dir@/server.rb",
        ANSWERS,
        files={"server.rb": "require 'webrick'\ns = WEBrick::HTTPServer.new(BindAddress: '127.0.0.1', Port: @port@, AccessLog: [])\ns.mount_proc('/') { |q, r| r.body = (q.path + Time.now.to_f.to_s + rand.to_s) * 20 }\ntrap('TERM') { s.shutdown }\ns.start\n"},
    ),
    Server(
        "php",
        "web",
        "php-cli",
        "/usr/bin/php -S 127.0.0.1:@port@ @dir@/page.php",
        ANSWERS,
        files={"page.php": "<?php echo str_repeat($_SERVER['REQUEST_URI'] . microtime(true) . mt_rand() . bin2hex(random_bytes(8)), 20);\n"},
    ),
    Server(
        "starman",
        "web",
        "starman",
        "/usr/bin/starman --listen 127.0.0.1:@port@ --workers 2 @dir@/app.psgi",
        ANSWERS,
        files={"app.psgi": "use Time::HiRes; sub { my $e = shift; [200, ['Content-Type' => 'text/plain'], [($e->{PATH_INFO} . Time::HiRes::time() . rand()) x 20]] };\n"},
    ),
    Server(
        "node",
        "web",
        "nodejs",
        "node @dir@/server.js",
        ANSWERS,
        files={"server.js": "const crypto = require('crypto');\nrequire('http').createServer((q, r) => r.end((q.url + Date.now() + Math.random() + crypto.randomBytes(8).toString('hex')).repeat(20))).listen(@port@, '127.0.0.1');\n"},
    ),
    Server(
        "uwsgi",
        "web",
        "uwsgi-core uwsgi-plugin-python3",
        "/usr/bin/uwsgi --plugin python3 --http-socket 127.0.0.1:@port@ --wsgi-file @dir@/app.py --processes 2 --master --die-on-term",
        pages(("/@n@", "/a"), statuses=(200,), keep_alive=False),
        files={"app.py": "import time, random\ndef application(environ, start_response):\n    start_response('200 OK', [])\n    return [(environ['PATH_INFO'] + str(time.time()) + str(random.random())).encode() * 20]\n"},
    ),
    Server(
        "radicale",
        "web",
        "radicale",
        "/usr/bin/radicale --server-hosts 127.0.0.1:@port@ --auth-type none --storage-filesystem-folder @state@",
        pages(("/.web/", "/", "/.web/index.html", "/prony/"), statuses=(200, 301, 302, 401, 403, 404, 207), keep_alive=False),
    ),
]

NAMES = [f"host@n@.prony.test", "www.prony.test", "missing.prony.test", "mail.prony.test"]
ZONE = "$ORIGIN prony.test.\n$TTL 300\n@ IN SOA ns hostmaster 1 3600 600 86400 300\n@ IN NS ns\nns IN A 127.0.0.1\nwww IN A 10.0.0.1\nmail IN A 10.0.0.2\n" + "".join(
    f"host{n} IN A 10.0.1.{n}\nhost{n} IN TXT \"some text of host {n}\"\n" for n in range(50)
)
DNS = [
    Server("dnsmasq", "names", "dnsmasq-base", "/usr/sbin/dnsmasq -k -C /dev/null -p @port@ --listen-address=127.0.0.1 --no-resolv --no-hosts --address=/prony.test/10.1.2.3 -u root", dns(NAMES)),
    Server(
        "unbound",
        "names",
        "unbound",
        "/usr/sbin/unbound -d -c @dir@/unbound.conf",
        dns(NAMES),
        files={"unbound.conf": "server:\n  interface: 127.0.0.1@AT@@port@\n  chroot: \"\"\n  username: \"\"\n  directory: \"@state@\"\n  pidfile: \"@state@/pid\"\n  num-threads: 2\n  use-syslog: no\n  local-zone: \"prony.test.\" redirect\n  local-data: \"prony.test. A 10.1.2.3\"\nremote-control:\n  control-enable: no\n"},
    ),
    Server(
        "bind",
        "names",
        "bind9",
        "/usr/sbin/named -g -c @dir@/named.conf -n 1 -p @port@",
        dns(NAMES),
        files={"named.conf": 'options { directory "@state@"; listen-on port @port@ { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file "@state@/pid"; session-keyfile "@state@/key"; managed-keys-directory "@state@"; };\ncontrols {};\nzone "prony.test" { type master; file "@dir@/zone"; };\n', "zone": ZONE},
    ),
    Server(
        "nsd",
        "names",
        "nsd",
        "/usr/sbin/nsd -d -c @dir@/nsd.conf",
        dns(NAMES),
        files={"nsd.conf": 'server:\n  ip-address: 127.0.0.1\n  port: @port@\n  username: ""\n  zonesdir: "@dir@"\n  database: ""\n  pidfile: "@state@/pid"\n  xfrdfile: "@state@/xfrd"\n  zonelistfile: "@state@/zones"\n  server-count: 1\nremote-control:\n  control-enable: no\nzone:\n  name: prony.test\n  zonefile: zone\n', "zone": ZONE},
    ),
    Server(
        "knot",
        "names",
        "knot",
        "/usr/sbin/knotd -c @dir@/knot.conf",
        dns(NAMES),
        files={"knot.conf": "server:\n  listen: 127.0.0.1@AT@@port@\n  rundir: @state@\n  udp-workers: 2\n  tcp-workers: 1\n  background-workers: 1\n  user: root\ndatabase:\n  storage: @state@\nzone:\n  - domain: prony.test\n    storage: @dir@\n    file: zone\n", "zone": ZONE},
    ),
    Server(
        "powerdns",
        "names",
        "pdns-server pdns-backend-bind",
        "/usr/sbin/pdns_server --config-dir=@dir@ --daemon=no --guardian=no --local-address=127.0.0.1 --local-port=@port@ --launch=bind --bind-config=@dir@/named.conf --socket-dir=@state@ --receiver-threads=1",
        dns(NAMES),
        files={"pdns.conf": "", "named.conf": 'zone "prony.test" { type master; file "@dir@/zone"; };\n', "zone": ZONE},
    ),
]

MAIL = [
    Server(
        "openssh",
        "login",
        "openssh-server openssh-client",
        "/usr/sbin/sshd -D -e -f @dir@/sshd_config",
        # A shell would run what the user has in its start-up files.
        programs("sftp -F none -q -i @dir@/user_key -P @port@ -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o BatchMode=yes root@127.0.0.1:@dir@/site/big.txt @dir@/got.@n@", clients=2),
        files=SITE | {"sshd_config": "Port @port@\nListenAddress 127.0.0.1\nHostKey @dir@/host_key\nAuthorizedKeysFile @dir@/user_key.pub\nPidFile @state@/pid\nStrictModes no\nPermitRootLogin yes\nUsePAM no\nLogLevel ERROR\nSubsystem sftp internal-sftp\n"},
        # Its time of access is sent too, and changes with the first access.
        prepare=["cat site/big.txt > /dev/null; mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f host_key && ssh-keygen -q -t ed25519 -N '' -f user_key"],
        flags="--follow-exec",
    ),
    Server(
        "vsftpd",
        "files",
        "vsftpd curl",
        "/usr/sbin/vsftpd @dir@/vsftpd.conf",
        programs("curl -s ftp://127.0.0.1:@port@/big.txt -o /dev/null && curl -s ftp://127.0.0.1:@port@/ -o /dev/null", clients=2),
        files=SITE | {"vsftpd.conf": "listen=YES\nlisten_port=@port@\nlisten_address=127.0.0.1\nanonymous_enable=YES\nanon_root=@dir@/site\nbackground=NO\nsecure_chroot_dir=/var/run/vsftpd/empty\nseccomp_sandbox=NO\nftp_username=games\nxferlog_enable=NO\nconnect_from_port_20=NO\n"},
        prepare=["mkdir -p /var/run/vsftpd/empty; chmod 755 @dir@ @dir@/site"],
    ),
    Server(
        "dovecot",
        "mail",
        "dovecot-imapd",
        "/usr/sbin/dovecot -F -c @dir@/dovecot.conf",
        lines([("a@n@ SELECT INBOX", "a\\d+ OK.*\n"), ("b@n@ FETCH 1:* (FLAGS ENVELOPE)", "b\\d+ OK.*\n"), ("c@n@ NOOP", "c\\d+ OK.*\n")], hello=[("x LOGIN prony secret", "x OK.*\n")], end=b"\r\n", greeting=True, clients=2),
        files={"dovecot.conf": "protocols = imap\nlisten = 127.0.0.1\nbase_dir = @state@/run\nssl = no\nlog_path = /dev/stderr\ndisable_plaintext_auth = no\nmail_location = maildir:@state@/mail\nfirst_valid_uid = 0\nservice imap-login {\n inet_listener imap {\n port = @port@\n }\n}\nservice stats {\n unix_listener stats-reader {\n mode = 0666\n }\n unix_listener stats-writer {\n mode = 0666\n }\n}\npassdb {\n driver = static\n args = password=secret\n}\nuserdb {\n driver = static\n args = uid=mail gid=mail home=@state@/home\n}\n"},
        prepare=["mkdir -p @state@/mail/cur @state@/mail/new @state@/mail/tmp; for i in 1 2 3 4 5 6 7 8; do printf 'From: a@prony\\nSubject: letter %s\\n\\ntext\\n' $i > @state@/mail/cur/$i.M1P1.prony:2,; done; chown -R mail:mail @state@/mail; chmod 755 @state@"],
        flags="--follow-exec --processes-in-turn",
    ),
    Server(
        "exim",
        "mail",
        "exim4-daemon-light",
        "@dir@/exim4 -C @dir@/exim.conf -bdf -oX @port@",
        lines([("MAIL FROM:<a@prony.test>", "250.*\n"), ("RCPT TO:<b@prony.test>", "250.*\n"), ("DATA", "354.*\n"), ("Subject: x\r\n\r\ntext @n@\r\n.", "250.*\n"), ("VRFY b", "\\d\\d\\d.*\n")], hello=[("EHLO client.prony.test", "250 .*\n")], end=b"\r\n", greeting=True, clients=2, pause=0.02),
        files={"exim.conf": "primary_hostname = prony.test\nspool_directory = @state@\nlog_file_path = @state@/log_%slog\nlocal_interfaces = 127.0.0.1\nexim_user = Debian-exim\nexim_group = Debian-exim\nqueue_only = true\nsmtp_enforce_sync = false\nhost_lookup =\nrfc1413_query_timeout = 0s\nacl_smtp_rcpt = accept\nacl_smtp_data = accept\nbegin acl\naccept:\n  accept\nbegin routers\nall:\n  driver = accept\n  transport = discard\nbegin transports\ndiscard:\n  driver = appendfile\n  file = /dev/null\n"},
        # The program of the package is set-user-id, which is refused.
        prepare=["cp /usr/sbin/exim4 exim4; chown root:root exim.conf; chown Debian-exim:Debian-exim @state@; chmod 755 @dir@"],
    ),
    Server(
        "inspircd",
        "chat",
        "inspircd",
        "/usr/sbin/inspircd --nofork --runasroot --config=@dir@/inspircd.conf",
        games.irc(6),
        files={"inspircd.conf": '<server name="irc.prony.test" description="d" network="prony">\n<admin name="a" nick="a" email="a@prony.test">\n<bind address="127.0.0.1" port="@port@" type="clients">\n<connect allow="*" timeout="60" commandrate="100000" fakelag="no" threshold="100000" recvq="65536" sendq="1048576" localmax="50" globalmax="50" resolvehostnames="no">\n<options defaultmodes="nt">\n<pid file="@state@/pid">\n<path datadir="@state@" logdir="@state@">\n'},
    ),
    Server(
        "ngircd",
        "chat",
        "ngircd",
        "/usr/sbin/ngircd -n -f @dir@/ngircd.conf",
        games.irc(6),
        files={"ngircd.conf": "[Global]\nName = irc.prony.test\nInfo = d\nPorts = @port@\nListen = 127.0.0.1\nServerUID = root\nServerGID = root\nMotdPhrase = hello\n[Options]\nIdent = no\nDNS = no\nPAM = no\n[Limits]\nMaxConnectionsIP = 0\nMaxPenaltyTime = 0\n"},
    ),
    Server(
        "bitlbee",
        "chat",
        "bitlbee",
        "/usr/sbin/bitlbee -F -n -i 127.0.0.1 -p @port@ -d @state@ -c @dir@/bitlbee.conf -v",
        lines([("PRIVMSG &bitlbee :help", "\n"), ("PING @n@", "PONG.*\n"), ("NAMES &bitlbee", "366.*\n")], hello=[("NICK n@n@\r\nUSER u 0 * :u", "(376|422) .*\n")], end=b"\r\n", clients=2),
        flags="--processes-in-turn",
        files={"bitlbee.conf": "[settings]\nRunMode = ForkDaemon\n"},
    ),
    Server(
        "prosody",
        "chat",
        "prosody",
        "/usr/bin/prosody -F --config @dir@/prosody.cfg.lua",
        games.xmpp(3),
        files={"prosody.cfg.lua": 'run_as_root = true\nmodules_enabled = {"roster", "saslauth", "disco", "ping", "register"}\nmodules_disabled = {"s2s", "tls"}\nauthentication = "anonymous"\nallow_unencrypted_plain_auth = true\ninterfaces = {"127.0.0.1"}\nc2s_ports = {@port@}\nc2s_require_encryption = false\ndata_path = "@state@"\npidfile = "@state@/pid"\nlog = {info = "*console"}\nVirtualHost "localhost"\n'},
    ),
    Server(
        "mumble",
        "chat",
        "mumble-server",
        "/usr/sbin/murmurd -fg -ini @dir@/murmur.ini",
        games.mumble(3),
        files={"murmur.ini": "database=@state@/murmur.sqlite\nlogfile=\nport=@port@\nhost=127.0.0.1\nbonjour=False\nusers=20\nice=\n"},
        user="mumble-server",
    ),
    Server(
        "icecast",
        "stream",
        "icecast2 curl",
        "/usr/bin/icecast2 -c @dir@/icecast.xml",
        games.icecast(3),
        files={"icecast.xml": "<icecast><limits><clients>50</clients><sources>5</sources></limits><authentication><source-password>secret</source-password><admin-user>a</admin-user><admin-password>b</admin-password></authentication><hostname>localhost</hostname><listen-socket><port>@port@</port><bind-address>127.0.0.1</bind-address></listen-socket><paths><basedir>/usr/share/icecast2</basedir><logdir>@state@</logdir><webroot>/usr/share/icecast2/web</webroot><adminroot>/usr/share/icecast2/admin</adminroot></paths><logging><accesslog>access.log</accesslog><errorlog>error.log</errorlog><loglevel>2</loglevel></logging></icecast>\n"},
        user="icecast2",
    ),
]

NETWORK = [
    Server(
        "rsync",
        "files",
        "rsync",
        "/usr/bin/rsync --daemon --no-detach --address=127.0.0.1 --port=@port@ --config=@dir@/rsyncd.conf",
        programs("rm -rf copy$$; rsync -a rsync://127.0.0.1:@port@/site/ copy$$/", clients=2),
        files=SITE | {"rsyncd.conf": "use chroot = no\nuid = root\ngid = root\n[site]\npath = @dir@/site\nread only = yes\n"},
        prepare=["touch -d 2026-01-01 site/*"],
    ),
    Server("snmpd", "network", "snmpd snmp", "/usr/sbin/snmpd -f -Lo -C -c @dir@/snmpd.conf udp:127.0.0.1:@port@", programs("snmpwalk -v2c -c public 127.0.0.1:@port@ .1.3.6.1.2.1.1", clients=2), files={"snmpd.conf": "rocommunity public\n"}, environment={"SNMP_PERSISTENT_DIR": "@state@"}),
    Server(
        "kamailio",
        "network",
        "kamailio",
        "/usr/sbin/kamailio -DD -E -f @dir@/kamailio.cfg -Y @state@",
        datagrams(games.sip, clients=3),
        files={"kamailio.cfg": '#!KAMAILIO\nlisten=udp:127.0.0.1:@port@\nchildren=2\nlog_stderror=yes\ndebug=1\nloadmodule "sl.so"\nrequest_route {\n sl_send_reply("200", "OK");\n}\n'},
    ),
    Server("dante", "network", "dante-server curl", "/usr/sbin/danted -f @dir@/danted.conf -N 1", together(origin(), programs("curl -s --socks5 127.0.0.1:@port@ http://127.0.0.1:@other@/ -o /dev/null --max-time 5", clients=3)), files={"danted.conf": "logoutput: stderr\ninternal: 127.0.0.1 port = @port@\nexternal: 127.0.0.1\nclientmethod: none\nsocksmethod: none\nuser.privileged: root\nuser.unprivileged: nobody\nclient pass { from: 0/0 to: 0/0 }\nsocks pass { from: 0/0 to: 0/0 }\n"}),
    Server("chrony", "network", "chrony", "/usr/sbin/chronyd -d -x -U -f @dir@/chrony.conf -u root", datagrams(lambda run, count: b"\x23" + bytes(39) + count.to_bytes(8, "big"), clients=3, pause=0.002), files={"chrony.conf": "port @port@\nlocal stratum 5\nallow 127.0.0.1\ncmdport 0\npidfile @state@/pid\nbindaddress 127.0.0.1\nbindcmdaddress /\n"}),
    Server("tor", "network", "tor", "/usr/bin/tor -f @dir@/torrc", lines([("GETINFO version config/names events/names features/names", "250 OK")], hello=[('AUTHENTICATE ""', "250 OK")], end=b"\r\n", clients=3), files={"torrc": "SocksPort 0\nControlPort @port@\nDataDirectory @state@\nDisableNetwork 1\n"}),
    Server("transmission", "network", "transmission-daemon", "/usr/bin/transmission-daemon -f -g @state@ -p @port@ -T -a 127.0.0.1 -w @state@", pages(("/transmission/web/", "/transmission/rpc", "/transmission/web/index.html"), statuses=(200, 301, 404, 409), keep_alive=False)),
]

SERVERS = GAMES + STORES + WEB + DNS + MAIL + NETWORK + FRAMEWORKS + RUNTIMES
# Few seconds each, and packages that are small.
QUICK = ["teeworlds", "bzflag", "wesnoth", "monopd", "redis", "memcached", "lighttpd", "dnsmasq", "ngircd", "mosquitto"]

# Those whose recorders are killed: they read or write what is in --state.
WITH_STATE = ["teeworlds", "redis", "lighttpd", "dnsmasq", "mosquitto"]

# A server of the standard library alone, by nobody's SDK. On standard input and output, or with --http over Streamable HTTP on PORT.
#   python3 python-server.py [--http] [--ascii] [--buffered] [--noise]
# --ascii escapes what is not ASCII; --buffered writes all messages of one request at once; --noise says what is no message. What it gets is named on
# standard error: `got tools/call`.
import base64
import json
import os
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ASCII, BUFFERED, NOISE = (flag in sys.argv for flag in ('--ascii', '--buffered', '--noise'))
REVISIONS = ('2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05')


class Fault(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def schema(**properties):
    return {'type': 'object', 'properties': {name: {'type': kind} for name, kind in properties.items()}}


TOOLS = [
    {'name': 'add', 'inputSchema': schema(a='number', b='number')},
    {'name': 'echo', 'inputSchema': schema(text='string')},
    {'name': 'steps', 'inputSchema': schema(n='integer')},
    {'name': 'fail', 'inputSchema': schema()},
    {'name': 'grow', 'inputSchema': schema()},
    {'name': 'hang', 'inputSchema': schema()},
]
PAGES = {
    'py:page': {'text': 'stránka 🐍', 'mimeType': 'text/plain'},
    'py:bytes': {'blob': base64.b64encode(bytes(range(256))).decode(), 'mimeType': 'application/octet-stream'},
}


def encode(message):
    return json.dumps({'jsonrpc': '2.0', **message}, ensure_ascii=ASCII)


def tell(what):
    print(what, file=sys.stderr, flush=True)


def text(said, **more):
    return {'content': [{'type': 'text', 'text': said}], **more}


def call(params, send):
    name, given = params['name'], params.get('arguments', {})
    if name == 'add':
        return text(str(given['a'] + given['b']))
    if name == 'echo':
        return text(given['text'])
    if name == 'fail':
        return text('it did not work', isError=True)
    if name == 'hang':
        tell('hangs')
        return None
    if name == 'steps':
        token = params.get('_meta', {}).get('progressToken')
        for step in range(1, given['n'] + 1):
            told = {'progressToken': token, 'progress': step, 'total': given['n'], 'message': f'krok {step}'}
            if token is not None:
                send({'method': 'notifications/progress', 'params': told})
        return text('hotovo')
    if name == 'grow':
        TOOLS.append({'name': f'late-{len(TOOLS)}', 'inputSchema': schema()})
        send({'method': 'notifications/tools/list_changed'})
        return text(TOOLS[-1]['name'])
    raise Fault(-32602, f'Unknown tool: {name}')


def answer(method, params, send):
    if method == 'initialize':
        wanted = params['protocolVersion']
        return {
            'protocolVersion': wanted if wanted in REVISIONS else REVISIONS[0],
            'capabilities': {'tools': {'listChanged': True}, 'resources': {}},
            'serverInfo': {'name': 'python', 'version': sys.version.split()[0]},
        }
    if method == 'ping':
        return {}
    if method == 'tools/list':  # two a page
        start = int(params.get('cursor', 0))
        more = {'nextCursor': str(start + 2)} if start + 2 < len(TOOLS) else {}
        return {'tools': TOOLS[start : start + 2], **more}
    if method == 'tools/call':
        return call(params, send)
    if method == 'resources/list':
        return {'resources': [{'uri': uri, 'name': uri} for uri in PAGES]}
    if method == 'resources/read':
        if params['uri'] not in PAGES:
            raise Fault(-32002, 'Resource not found')
        return {'contents': [{'uri': params['uri'], **PAGES[params['uri']]}]}
    raise Fault(-32601, f'Method not found: {method}')


def respond(message, send):
    """Says what there is to say to one message; False when nothing ends it."""
    tell(f"got {message.get('method', 'an answer')}")
    if 'id' not in message:
        return True
    try:
        result = answer(message['method'], message.get('params', {}), send)
        if result is None:
            return False
        send({'id': message['id'], 'result': result})
    except Fault as fault:
        send({'id': message['id'], 'error': {'code': fault.code, 'message': str(fault)}})
    except (KeyError, TypeError) as error:
        send({'id': message['id'], 'error': {'code': -32602, 'message': f'Invalid params: {error!r}'}})
    return True


def over_pipes():
    sys.stdin.reconfigure(encoding='utf-8')
    sys.stdout.reconfigure(encoding='utf-8')

    def send(message):
        if NOISE:
            print('INFO:root:about to say something\n{not: json}')
        print(encode(message), flush=not BUFFERED)

    for line in sys.stdin:
        respond(json.loads(line), send)
        sys.stdout.flush()
    tell('end of input')


class Handler(BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    sessions = set()

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers['content-length'])))
        if message.get('method') == 'initialize':
            session = uuid.uuid4().hex
            self.sessions.add(session)
            return self.plain(message, {'Mcp-Session-Id': session})
        if not self.known():
            return None
        if 'id' not in message:
            respond(message, None)
            return self.status(202)
        return self.stream(message) if message['method'] == 'tools/call' else self.plain(message, {})

    def do_GET(self):
        self.status(405)

    def do_DELETE(self):
        if self.known():
            self.sessions.discard(self.headers['mcp-session-id'])
            self.status(200)

    def known(self):
        session = self.headers.get('mcp-session-id')
        if session in self.sessions:
            return True
        self.status(400 if session is None else 404)
        return False

    def status(self, code):
        self.send_response(code)
        self.send_header('content-length', '0')
        self.end_headers()

    def plain(self, message, headers):
        said = []
        respond(message, said.append)
        body = encode(said[-1]).encode()
        self.send_response(200)
        for name, value in {**headers, 'content-type': 'application/json', 'content-length': len(body)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, message):
        self.send_response(200)
        self.send_header('content-type', 'text/event-stream')
        self.send_header('connection', 'close')
        self.end_headers()
        if not respond(message, lambda one: self.wfile.write(f'data: {encode(one)}\r\n\r\n'.encode())):
            self.wait()

    def wait(self):
        try:
            while True:
                self.wfile.write(b': still here\n\n')
                time.sleep(0.05)
        except OSError:
            tell('the client left')

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # of many connections at once, the sixth would wait for a second


def over_http():
    server = Server(('127.0.0.1', int(os.environ['PORT'])), Handler)
    tell(f'listening on port {server.server_address[1]}')
    server.serve_forever()


if '--http' in sys.argv:
    over_http()
else:
    over_pipes()

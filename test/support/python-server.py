# A server of the standard library alone, on standard input and output: it adds.
import json
import sys

TOOL = {
    'name': 'add',
    'inputSchema': {'type': 'object', 'properties': {'a': {'type': 'number'}, 'b': {'type': 'number'}}},
}


def answer(method, params):
    if method == 'initialize':
        info = {'name': 'python', 'version': sys.version.split()[0]}
        return {'protocolVersion': params['protocolVersion'], 'capabilities': {'tools': {}}, 'serverInfo': info}
    if method == 'tools/list':
        return {'tools': [TOOL]}
    if method == 'tools/call':
        given = params['arguments']
        return {'content': [{'type': 'text', 'text': str(given['a'] + given['b'])}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if 'id' in message:
        result = answer(message['method'], message.get('params', {}))
        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'result': result}), flush=True)

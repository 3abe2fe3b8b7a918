import {
  defineMethod,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineServer,
  defineTool,
  field,
  files,
  gateway,
  serveHttp,
  startServer,
} from 'caduceus'
import { github } from 'caduceus/transports'

/** A program with a mistake, and what its author is told: where it is, what was wrong, and what to do. */
export type Mistake = readonly [name: string, program: () => unknown, told: readonly RegExp[]]

const run = () => 'done'
/** What every server has. */
export const server = { name: 's', version: '1' }
const tool = defineTool({ name: 'add', input: { a: field.integer() }, run: ({ a }) => String(a) })
/** What no compiler has seen. */
export const any = (options: object) => options as never

/** What is wrong where it is defined. */
export const definitions: readonly Mistake[] = [
  [
    'a field is a word',
    () => defineTool(any({ name: 'add', input: { a: 'string' }, run })),
    [/tool "add": input\.a: /, /got "string"/, /write field\.string\(\)/],
  ],
  [
    'a field is a class',
    () => defineTool(any({ name: 'add', input: { a: Number }, run })),
    [/tool "add": input\.a: /, /got a function/, /write field\.number\(\)/],
  ],
  [
    'a JSON Schema has a type that there is not',
    () =>
      defineTool(any({ name: 'add', input: { type: 'object', properties: { a: { type: 'int' } } }, run })),
    [/tool "add": input: /, /at \/properties\/a\/type: .*got "int"/, /expected one of array.*integer/],
  ],
  [
    'an output has a keyword with a wrong value',
    () => defineTool(any({ name: 'add', output: { a: { type: 'string', maxLength: '5' } }, run })),
    [/tool "add": output\.a: /, /at \/maxLength: .*got "5"/, /expected a whole number of 0 or more/],
  ],
  [
    'choices are arguments',
    () => defineTool({ name: 'add', input: { a: field.enum(any('a' as never), any('b' as never)) }, run }),
    [/tool "add": input\.a: .*expected options as an object.*field\.enum\(\['a', 'b'\]\)/],
  ],
  [
    'what is isolated has no module',
    () => defineTool(any({ name: 'add', isolate: 'thread', run })),
    [/tool "add": module: .*default export is run/, /module: new URL\('\.\/heavy\.js', import\.meta\.url\)/],
  ],
  [
    'a field is required: true',
    () => defineTool({ name: 'add', input: { a: field.string(any({ required: true })) }, run }),
    [
      /tool "add": input\.a: required: /,
      /expected an option among/,
      /unless it is made \.optional\(\) or has a default/,
    ],
  ],
  [
    'a limit is called as in JSON Schema',
    () => defineTool({ name: 'add', input: { a: field.string(any({ maxLength: 5 })) }, run }),
    [/tool "add": input\.a: maxLength: /, /write max/],
  ],
  [
    'a group is nested without field.group',
    () => defineTool(any({ name: 'add', input: { home: { street: { type: 'string' } } }, run })),
    [/tool "add": input\.home: /, /got an object with keys \[street\]/, /field\.group\(\{/],
  ],
  [
    'the schema is called inputSchema',
    () => defineTool(any({ name: 'add', inputSchema: { type: 'object' }, run })),
    [/tool "add": inputSchema: /, /expected a field among/, /did you mean "input"\?/],
  ],
  [
    'the schema is called parameters',
    () => defineTool(any({ name: 'add', parameters: {}, run })),
    [/tool "add": parameters: /, /did you mean "input"\?/],
  ],
  [
    'the result is called outputSchema',
    () => defineTool(any({ name: 'add', outputSchema: {}, run })),
    [/tool "add": outputSchema: /, /did you mean "output"\?/],
  ],
  [
    'the work is called handler',
    () => defineTool(any({ name: 'add', handler: run })),
    [/tool "add": handler: /, /did you mean "run"\?/],
  ],
  [
    'the work is called execute',
    () => defineTool(any({ name: 'add', execute: run })),
    [/tool "add": execute: /, /did you mean "run"\?/],
  ],
  [
    'the work of a prompt is called handler',
    () => definePrompt(any({ name: 'p', handler: run })),
    [/prompt "p": handler: /, /did you mean "get"\?/],
  ],
  [
    'the work of a resource is called load',
    () => defineResource(any({ uri: 'a:b', load: run })),
    [/resource "a:b": load: /, /did you mean "read"\?/],
  ],
  [
    'the params of a method are called input',
    () => defineMethod(any({ input: {}, run })),
    [/method: input: /, /did you mean "params"\?/],
  ],
  [
    'a field of a tool is misspelled',
    () => defineTool(any({ name: 'add', desciption: 'Adds.', run })),
    [/tool "add": desciption: /, /did you mean "description"\?/],
  ],
  [
    'a hint is called otherwise',
    () => defineTool(any({ name: 'add', annotations: { readOnly: true }, run })),
    [/tool "add": annotations\.readOnly: /, /readOnlyHint/],
  ],
  [
    'the name of a tool has a space',
    () => defineTool({ name: 'add numbers', run }),
    [/tool: name: /, /got "add numbers"/, /letters, digits, _, - and \./],
  ],
  [
    'a tool does nothing',
    () => defineTool(any({ name: 'add' })),
    [/tool "add": run: /, /expected a function, got undefined/],
  ],
  [
    'a tool in an array has no name',
    () => defineServer({ ...server, tools: [any(defineTool({ description: 'Adds numbers.', run }))] }),
    [
      /server "s": tools\[0\]: /,
      /got one without \("Adds numbers\."\)/,
      /give it a name, or list it by one: tools: \{/,
    ],
  ],
  [
    'a tool was not defined',
    () => defineServer({ ...server, tools: [any({ name: 'add', run })] }),
    [/server "s": tools\[0\]: /, /expected what defineTool returns/, /keys \[name, run\]/],
  ],
  [
    'two tools have one name',
    () => defineServer({ ...server, tools: [tool, tool] }),
    [/server "s": tools\[1\]: /, /expected a name that no other tool has, got "add"/],
  ],
  [
    'a prompt stands among the tools',
    () => defineServer({ ...server, tools: [any(definePrompt({ name: 'p', get: run }))] }),
    [/server "s": tools\[0\]: /, /expected what defineTool returns/],
  ],
  [
    'a field of a server is misspelled',
    () => defineServer(any({ ...server, tool: [] })),
    [/server "s": tool: /, /did you mean "tools"\?/],
  ],
  [
    'a server has no version',
    () => defineServer(any({ name: 's' })),
    [/server "s": version: /, /expected a non-empty string, got undefined/],
  ],
  [
    'a template says its variables otherwise',
    () => defineResourceTemplate({ uriTemplate: 'a:{b', read: run }),
    [/resource template "a:\{b": uriTemplate: /],
  ],
  [
    'suggestions are for an argument that there is not',
    () => definePrompt(any({ name: 'p', arguments: [{ name: 'city' }], get: run, complete: { town: run } })),
    [/prompt "p": complete\.town: /, /expected a name among city/],
  ],
  [
    'an icon comes from http',
    () => defineTool({ name: 'add', icons: [{ src: 'http://a/b.png' }], run }),
    [/tool "add": icons\[0\]\.src: /, /expected a uri with https: or data:/],
  ],
]

/** What is called, or stands, elsewhere in other libraries. */
export const elsewhere: readonly Mistake[] = [
  [
    'a server has middleware',
    () => defineServer(any({ ...server, middleware: [] })),
    [/server "s": middleware: expected a field among .* \(defineServer has handleRequest\)/],
  ],
  [
    'a server has a lifespan',
    () => defineServer(any({ ...server, lifespan: run })),
    [/server "s": lifespan: .*\(defineServer has session\.init; open once/],
  ],
  [
    'a tool has tags',
    () => defineTool(any({ name: 'add', tags: ['math'], run })),
    [/tool "add": tags: .*\(put them into meta/],
  ],
  [
    'a server has the sign-in',
    () => defineServer(any({ ...server, auth: {} })),
    [/server "s": auth: .*\(it belongs to serveHttp\(\{ auth \}\)\)/],
  ],
  [
    'a start has the sign-in',
    () => startServer(defineServer(server), any({ transport: serveHttp(), auth: {} })),
    [/^auth: expected an option among .* \(it belongs to serveHttp\(\{ auth \}\)\)/],
  ],
  [
    'a provider stands alone as the sign-in',
    () => serveHttp(any({ auth: github({ clientId: 'a', clientSecret: 'b' }) })),
    [/auth: expected of a provider signIn\(\{ with: github\(\.\.\.\), resource \}\)/],
  ],
  [
    'a template stands among the resources',
    () =>
      defineServer({
        ...server,
        resources: [any(defineResourceTemplate({ name: 't', uriTemplate: 'a:{b}', read: run }))],
      }),
    [/resources\[0\]: expected what defineResource returns \(put this one into resourceTemplates\)/],
  ],
  [
    'the name of a tool comes before it',
    () => defineTool(any('add' as never)),
    [/tool: options: expected an object, as in defineTool\(\{ name, run \}\), got "add"/],
  ],
  [
    'the uri of a template comes before it',
    () => defineResourceTemplate(any('a:{b}' as never)),
    [/options: expected an object, as in defineResourceTemplate\(\{ uriTemplate, read \}\), got "a:\{b\}"/],
  ],
  [
    'the name of a server comes before it',
    () => defineServer(any('s' as never)),
    [/server: options: expected an object, as in defineServer\(\{ name, version, tools/],
  ],
  [
    'a definition stands behind a gateway',
    () => gateway({ w: any(defineServer(server)) }),
    [
      /clients\.w: expected a client, .*a client of it over memory\(\); or defineServer\(\{ tools: \[\.\.\.a\.tools/,
    ],
  ],
]

/** What is wrong where it is started. */
export const starts: readonly Mistake[] = [
  [
    'an option of a server is misspelled',
    () => startServer(defineServer(server), any({ transport: serveHttp(), timeouts: { requests: 5 } })),
    [/timeouts\.requests: /, /did you mean "timeouts\.request"\?/],
  ],
  [
    'the definition was forgotten',
    () => startServer(any({ ...server, tools: [tool] }), { transport: serveHttp() }),
    [/expected what defineServer returns/],
  ],
  [
    'the transport was forgotten',
    () => startServer(defineServer(server), any({ port: 3000 })),
    [/port: /, /expected an option among .*transport/],
  ],
  [
    'all options were forgotten',
    () => (startServer as (definition: unknown) => Promise<unknown>)(defineServer(server)),
    [
      /options: expected an object, as in startServer\(definition, \{ transport: serveStdio\(\) \}\), got undefined/,
    ],
  ],
  [
    'a port stands alone',
    () => serveHttp(3999 as never),
    [/options: expected an object, as in serveHttp\(\{ port: 3000 \}\), got 3999/],
  ],
  [
    'a folder stands alone',
    () => files('./sessions' as never),
    [/expected an object, as in files\(\{ folder: '\.\/sessions' \}\), got "\.\/sessions"/],
  ],
  ['a port is a word', () => serveHttp(any({ port: '3000' })), [/serveHttp: port: |port: /, /got "3000"/]],
]

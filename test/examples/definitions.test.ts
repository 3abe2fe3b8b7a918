// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot, root } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('programs of server/README.md', { timeout: 20_000 })

const programs = {
  tool: [
    'add_user',
    "{ id: 'user:ada@example.com', role: 'guest' }",
    'The arguments for add_user are not valid:',
    '- email: Invalid email address',
    '- age: expected a number <= 150, got 151',
    '- birthday: invalid ISO 8601 date format: expected text such as 2024-01-15',
  ],
  prompt: [
    'Write a short summary.',
    '20 characters: Hello',
    'The arguments of prompt summary are not valid: document: is required; style: expected one of "short", "long"',
    '{"uri":"notes://2024/may/first","mimeType":"text/plain","text":"may/first of 2024"}',
  ],
  app: ['nobody: tea', 'nobody: tea, milk'],
  run: ['hello'],
  isolate: ['true', 'false', 'The tool matches took longer than 2000 ms and was stopped.'],
  task: ['optional', 'The figures of 2026: 2026, 2027'],
  processes: ['tea', 'tea, milk', 'tea, milk, bread'],
  'low-level': ['{ finished: true }', 'a chair', 'made up'],
}

for (const [name, lines] of Object.entries(programs)) {
  test(`${name} says what the page promises, and ends by itself`, async (t) => {
    const program = inRoot('.t', 'test', 'examples', 'definitions', `${name}.js`)
    assert.equal(await runNode([program], root, t.signal), { code: 0, output: `${lines.join('\n')}\n` })
  })
}

test.run()

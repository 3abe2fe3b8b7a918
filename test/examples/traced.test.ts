// second tier: time
// shares a process
import * as assert from 'uvu/assert'
import { runNode } from '../support/project.js'
import { inRoot } from '../support/root.js'
import { suite } from '../support/suite.js'

const test = suite('the traced program of README.md', { timeout: 20_000 })

test('it prints the spans of the client and of the server, and ends', async (t) => {
  const { code, output } = await runNode([inRoot('.t', 'test', 'examples', 'traced.js')], inRoot(), t.signal)
  assert.is(code, 0, output)
  assert.is(output.match(/name: 'tools\/call divide'/g)?.length, 2, output)
  const each = (pattern: RegExp): (string | undefined)[] => [...output.matchAll(pattern)].map(([, id]) => id)
  const spans = output.split(/(?=^\{$)/m).filter((span) => span.includes("name: 'tools/call divide'"))
  const server = spans.find((span) => span.includes('kind: 1')) ?? ''
  const client = spans.find((span) => span.includes('kind: 2')) ?? ''
  const id = /^ {2}id: '(\w+)'/m.exec(client)?.[1]
  assert.match(server, new RegExp(`parentSpanContext: \\{[^}]*spanId: '${id}'`), output)
  assert.is(new Set(each(/^ {2}traceId: '(\w+)'/gm)).size, 1, output)
})

test.run()

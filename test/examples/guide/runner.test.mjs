import assert from 'node:assert/strict'
import test from 'node:test'
import { defineServer, defineTool, field } from 'caduceus'
import { connect } from 'caduceus/testing'

const double = defineTool({ name: 'double', input: { of: field.number() }, run: ({ of }) => String(of * 2) })
const server = defineServer({ name: 'numbers', version: '1.0.0', tools: [double] })

test('it doubles', async () => {
  const pair = await connect(server)
  try {
    assert.equal((await pair.client.tools.double({ of: 21 })).text, '42')
  } finally {
    await pair.close()
  }
})

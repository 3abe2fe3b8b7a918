import { PGlite } from '@electric-sql/pglite'
import { defineServer, defineTool, field, json, type Principal, ToolError } from 'caduceus'
import { connect } from 'caduceus/testing'

// a database for all, opened once; each row says whose it is
const db = await PGlite.create() // a Postgres in this process; `pg` takes the same lines
await db.exec('create table notes (owner text not null, note text not null)')

/** Who somebody is: a subject is unique at its issuer. */
function ownerOf({ principal }: { principal: Principal | undefined }) {
  if (principal === undefined) throw new ToolError('Sign in first.')
  return `${principal.issuer} ${principal.subject}`
}

const add = defineTool({
  name: 'add',
  input: { note: field.string({ max: 2_000 }) },
  async run({ note }, ctx) {
    await db.query('insert into notes values ($1, $2)', [ownerOf(ctx), note])
    return 'kept'
  },
})
const list = defineTool({
  name: 'list',
  async run(_args, ctx) {
    const { rows } = await db.query('select note from notes where owner = $1', [ownerOf(ctx)])
    return json(rows)
  },
})
const notes = defineServer({ name: 'notes', version: '1.0.0', tools: [add, list] })

// a test as two users
const issuer = 'https://login.example.com'
await using ada = await connect(notes, { principal: { issuer, subject: 'ada' } })
await using bob = await connect(notes, { principal: { issuer, subject: 'bob' } })
await ada.client.callTool('add', { note: 'of ada' })
await bob.client.callTool('add', { note: 'of bob' })
console.log((await ada.client.callTool('list')).text)
await db.close()

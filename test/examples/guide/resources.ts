import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineResource, defineResourceTemplate, defineServer, resolveInside } from 'caduceus'
import { connect } from 'caduceus/testing'

const folder = mkdtempSync(join(tmpdir(), 'notes-'))
writeFileSync(join(folder, 'today.txt'), 'Water the plants.')

let temperature = 20
const server = defineServer({
  name: 'house',
  version: '1.0.0',
  resources: [
    defineResource({ name: 'temperature', uri: 'house://temperature', read: () => `${temperature} °C` }),
  ],
  resourceTemplates: [
    defineResourceTemplate({
      name: 'note',
      uriTemplate: 'note://{+path}',
      // no path leads out of the folder, neither by `..` nor by a link
      read: async ({ path }) => readFileSync(await resolveInside([folder], path), 'utf8'),
    }),
  ],
})

await using pair = await connect(server)
console.log((await pair.client.readResource('note://today.txt')).text)
console.log(await pair.client.readResource('note://../../etc/passwd').catch(({ message }) => message))

const updates = pair.client.notifications('notifications/resources/updated')
await pair.client.subscribe('house://temperature')
temperature = 21
await pair.server.resourceUpdated('house://temperature')
const { value } = await updates.next()
console.log((await pair.client.readResource(value?.uri ?? '')).text)

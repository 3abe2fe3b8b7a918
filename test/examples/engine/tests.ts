import test, { after } from 'node:test'
import { PGlite } from '@electric-sql/pglite'
import { engineSuite } from 'caduceus/testing'
import { postgres } from './postgres.js' // yours

const db = await PGlite.create() // a Postgres in this process
let count = 0

engineSuite(
  test,
  () => {
    count += 1
    const prefix = `test_${count}` // nothing is there yet
    return { at: () => postgres(db, prefix) }
  },
  // the bench cannot break the database, and the engine does not know who listens
  { lacks: ['outage', 'silence', 'loss', 'listeners'] },
)

after(() => db.close())

// node scripts/machines.mjs: draws the state machines into their pages; `npm run check` says when a picture is stale.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { drawMachines } from './house/machines.mjs'
import { repository } from './house/sources.mjs'

for (const [page, text] of await drawMachines(repository)) writeFileSync(join(repository, page), text)

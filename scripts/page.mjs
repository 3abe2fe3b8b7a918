// node scripts/page.mjs: writes the page of `observe`, transports/view/page.ts, from transports/view/page/; `npm run check` says when it is stale.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildPage, pageFile } from './house/page.mjs'
import { repository } from './house/sources.mjs'

writeFileSync(join(repository, pageFile), await buildPage(repository))

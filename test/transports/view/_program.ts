// A program that may be looked at: it tells where, and either ends once somebody could have, or stays.
import { setTimeout as sleep } from 'node:timers/promises'
import { observe } from 'caduceus/transports'

const { path } = await observe({ name: 'a-program' })
process.stdout.write(`${path}\n`)
await sleep(process.argv[2] === 'ends' ? 1_000 : 60_000)

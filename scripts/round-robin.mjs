// node scripts/round-robin.mjs PORT PORT-OF-A-NODE...: a plain way to several nodes of one server, which take turns.
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/cluster/round-robin.ts')

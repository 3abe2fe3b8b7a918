// npm start [-- arguments]: the demonstration, a supervised tree that comes back from every kill.
import { runProgram } from './house/run-program.mjs'

await runProgram('scripts/start/main.ts')

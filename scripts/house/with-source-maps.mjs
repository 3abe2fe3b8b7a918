// Runs a program whose errors name the lines of its sources; those that it starts itself are spared the time
// this takes, unlike with
// --enable-source-maps, which they would take over.
//   node scripts/house/with-source-maps.mjs file [arguments]
import { pathToFileURL } from 'node:url'

process.setSourceMapsEnabled(true)
// a program finds its own arguments where it would if it were run itself
process.argv.splice(1, 1)
await import(pathToFileURL(process.argv[1]).href)

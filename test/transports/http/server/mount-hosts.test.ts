// second tier: time
import { everyTransportMounted, hosts } from './_hosts.js'

// those of the fast tier: mount.test.ts
const others = Object.keys(hosts).filter((name) => name !== 'node:http' && name !== 'Hono')
for (const name of others) everyTransportMounted(name)

import { startBalancer } from './balancer.js'

const [listenAt = Number.NaN, ...ports] = process.argv.slice(2).map(Number)
void main()

/** Passes what comes to the first port on to the others in turn, until it is ended. */
async function main(): Promise<void> {
  if (![listenAt, ...ports].every((port) => Number.isInteger(port) && port >= 0) || ports.length === 0) {
    console.error('usage: node scripts/run.mjs cluster/round-robin PORT PORT-OF-A-NODE [PORT-OF-A-NODE ...]')
    process.exitCode = 1
    return
  }
  const { url } = await startBalancer(ports, () => {}, listenAt)
  console.log(url)
}

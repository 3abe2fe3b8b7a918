import type { Contender } from './measure.js'

const [name = '', measurement = ''] = process.argv.slice(2)
void run()

/** One measurement of one contender in a process of its own; prints the figure, or null where it has none. */
async function run(): Promise<void> {
  const { contender } = (await import(`./contenders/${name}.js`)) as { contender: Contender }
  const measure = contender[measurement as keyof Contender]
  const value = measure === undefined ? null : await measure()
  process.stdout.write(`${JSON.stringify(value)}\n`, () => process.exit(0))
}

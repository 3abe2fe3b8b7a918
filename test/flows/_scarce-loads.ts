// Asks for each module that is loaded when it is needed, without a file descriptor and again with some, and says what came of it.
//   node _scarce-loads.js NAME...
import { lazy } from '../../runtime/faults/load.js'
import { toSchema } from '../../protocol/schema/schema.js'
import { Descriptors } from './_descriptors.js'

const descriptors = new Descriptors()
const loads = process.argv.slice(2).map((name) => ({ name, load: lazy(name, () => import(name)) }))
const schema = toSchema({ type: 'object' })
const all = [...loads, { name: 'ajv', load: async () => ({ issues: await schema.parse(1) }) }]

async function codes(): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const { name, load } of all)
    found[name] = await load().then(
      (module) => (Object.keys(module).length > 0 ? 'loaded' : 'empty'),
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    )
  return found
}

descriptors.takeAll()
const [first, second] = [await codes(), await codes()]
descriptors.giveBack()
console.log(JSON.stringify({ first, second, third: await codes() }))

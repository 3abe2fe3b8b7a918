// Runs the test files that the runner names, one after another, in this one process. What a file leaves
// behind is told as the failure of that file, so that the next one finds the process as new.
import { pathToFileURL } from 'node:url'
import { type Order, takeOrders } from './orders.js'

await takeOrders<Order & { readonly file: string }>(({ file }) => ({ href: pathToFileURL(file).href }))

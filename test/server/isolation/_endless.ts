import { BroadcastChannel } from 'node:worker_threads'

// Says that it is being loaded, and never is.
new BroadcastChannel('endless').postMessage('loading')
await new Promise(() => {})

export { never as default }

function never(): string {
  return 'never'
}

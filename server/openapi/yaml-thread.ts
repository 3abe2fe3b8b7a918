// The thread in which a long text of YAML is parsed.
import { parentPort, workerData } from 'node:worker_threads'
import { parseYaml } from './yaml.js'

void parseYaml(String(workerData)).then((parsed) => parentPort?.postMessage(parsed))

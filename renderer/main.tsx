import type { Bridge } from '../app/roll/channels.ts';
import { mount } from './Root.tsx';
import './styles/index.css';

declare global {
  interface Window {
    /** Exposed by the preload; the only way out of this page. */
    readonly rollcall: Bridge;
  }
}

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element with the id "root"');
mount(root, window.rollcall);

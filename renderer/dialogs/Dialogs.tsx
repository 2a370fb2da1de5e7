import type { Roll } from '../../app/roll/schema.ts';
import { useWindow } from '../state/context.tsx';
import { ClearDialog } from './ClearDialog.tsx';
import { DisconnectDialog } from './DisconnectDialog.tsx';
import { EndDialog } from './EndDialog.tsx';
import { HostFormDialog } from './HostFormDialog.tsx';
import { HostStepsDialog } from './HostStepsDialog.tsx';
import { LogDialog } from './LogDialog.tsx';
import { PlanDialog } from './PlanDialog.tsx';
import { ReapDialog } from './ReapDialog.tsx';
import { RemoveHostDialog } from './RemoveHostDialog.tsx';
import { SessionDialog } from './SessionDialog.tsx';
import { StartDialog } from './StartDialog.tsx';
import { StopAllDialog } from './StopAllDialog.tsx';
import { TaskDialog } from './TaskDialog.tsx';

/** The open question, if there is one. */
export function Dialogs({ roll, home }: { readonly roll: Roll; readonly home: string }) {
  const dialog = useWindow((state) => state.dialog);
  if (dialog === null) return null;
  switch (dialog.type) {
    case 'plan':
      return <PlanDialog />;
    case 'reap':
      return <ReapDialog key={dialog.id} id={dialog.id} label={dialog.label} why={dialog.why} />;
    case 'end':
      return <EndDialog key={`${dialog.act} ${dialog.server.id}`} act={dialog.act} server={dialog.server} />;
    case 'session':
      return <SessionDialog key={`${dialog.act} ${dialog.session.key}`} act={dialog.act} session={dialog.session} />;
    case 'stop-all':
      return <StopAllDialog servers={dialog.servers} />;
    case 'start':
      return <StartDialog key={dialog.kind} roll={roll} home={home} kind={dialog.kind} />;
    case 'clear':
      return <ClearDialog records={dialog.records} home={home} />;
    case 'log':
      return <LogDialog key={dialog.ended.nonce} ended={dialog.ended} home={home} />;
    case 'host-form':
      return <HostFormDialog key={dialog.form?.name} roll={roll} form={dialog.form} />;
    case 'host-steps':
      return <HostStepsDialog key={dialog.host} steps={dialog} roll={roll} />;
    case 'disconnect':
      return <DisconnectDialog key={dialog.host} host={dialog.host} servers={dialog.servers} />;
    case 'remove-host':
      return <RemoveHostDialog key={dialog.host.name} host={dialog.host} servers={dialog.servers} />;
    case 'task':
      return <TaskDialog key={dialog.id} id={dialog.id} />;
  }
}

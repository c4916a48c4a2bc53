// SPDX-License-Identifier: MIT

/// The stylesheet and the script of the page, whole.
public enum PageAssets {
    /// Dark and light as the reader's system says; colours pass WCAG 2.1 AA against their ground.
    public static let style = """
        :root { color-scheme: light dark; --ground: #fff; --text: #1b1f24; --soft: #57606a; --line: #d0d7de;
          --fine: #1a6b2f; --bad: #b3261e; --doubt: #805100; --sip: #0b57d0; --push: #6639ba; }
        @media (prefers-color-scheme: dark) { :root { --ground: #14181d; --text: #e6edf3; --soft: #9aa4af; --line: #3a434d;
          --fine: #56d075; --bad: #ff8a80; --doubt: #e3b341; --sip: #7ab7ff; --push: #c9a5ff; } }
        * { box-sizing: border-box; }
        body { margin: 0 auto; max-width: 70rem; padding: 0 1rem 2rem; background: var(--ground); color: var(--text);
          font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
        a { color: var(--sip); }
        a:focus-visible, input:focus-visible, button:focus-visible, summary:focus-visible, .scroll:focus-visible {
          outline: 3px solid var(--sip); outline-offset: 2px; }
        .skip { position: absolute; left: -99rem; }
        .skip:focus { left: 1rem; top: .5rem; background: var(--ground); padding: .5rem; }
        header { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: end; border-bottom: 1px solid var(--line); }
        header h1 { font-size: 1.4rem; margin: .75rem 0; }
        header h1 a { color: inherit; text-decoration: none; }
        form { display: flex; flex-wrap: wrap; gap: .25rem .5rem; align-items: center; margin: .75rem 0; flex: 1 1 16rem; }
        input { flex: 1 1 10rem; min-width: 0; }
        input, button { font: inherit; padding: .35rem .6rem; border: 1px solid var(--soft); border-radius: .3rem;
          background: var(--ground); color: var(--text); }
        h2 { font-size: 1.15rem; margin: 1.5rem 0 .5rem; }
        ul, ol { padding: 0; margin: 0; list-style: none; }
        .figures { display: flex; flex-wrap: wrap; gap: .5rem 2rem; }
        .figures b { font-size: 1.4rem; }
        .services li, .requests li, .steps li { border-left: .3rem solid var(--line); padding: .3rem .75rem; margin: .4rem 0; }
        li.fine { border-color: var(--fine); } li.failing { border-color: var(--bad); }
        li.doubtful, li.open { border-color: var(--doubt); }
        .summary, .when, .callid { color: var(--soft); font-size: .9rem; }
        .advice { border: 1px solid var(--line); border-radius: .3rem; padding: .75rem; }
        .scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: .3rem; }
        .sequence { display: block; font: 12px system-ui, sans-serif; }
        .sequence text { fill: var(--text); } .sequence .column { font-weight: bold; text-anchor: middle; }
        .sequence .time, .sequence .note { fill: var(--soft); } .sequence .label { text-anchor: middle; }
        .sequence path, .sequence circle { stroke-width: 1.5; }
        .sequence .life { stroke: var(--line); } .sequence .sip { stroke: var(--sip); fill: var(--sip); }
        .sequence .push { stroke: var(--push); fill: var(--push); } .sequence .good { stroke: var(--fine); fill: var(--fine); }
        .sequence .bad { stroke: var(--bad); fill: var(--bad); } .sequence circle.note { stroke: var(--soft); fill: var(--soft); }
        .lines li { padding: .1rem 0; } .lines .when { display: inline-block; min-width: 6rem; }
        """

    /// Takes what is new when the engine says that something is, while somebody looks; nothing moves under a reader who has
    /// unfolded, selected or focused something. Without room for one more listener it asks every 15 seconds.
    public static let script = """
        'use strict';
        const live = document.getElementById('live');
        let events = null, later = 0, isAsking = false;
        function lookLater(pause) {
          clearTimeout(later);
          later = setTimeout(look, pause);
        }
        async function look() {
          const main = document.getElementById('main');
          const isBusy = main.contains(document.activeElement) || main.querySelector('details[open]')
            || String(getSelection()) !== '';
          if (document.hidden) return;
          if (isBusy || isAsking) return lookLater(3000);
          isAsking = true;
          try {
            const here = location.origin + location.pathname + location.search;
            const answer = await fetch(here, { headers: { Accept: 'text/html' } });
            if (!answer.ok) throw new Error(answer.status);
            const next = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('main');
            if (next && next.textContent !== main.textContent) main.replaceChildren(...next.childNodes);
            live.textContent = '';
          } catch (error) {
            live.textContent = 'The engine does not answer; what you see may be old.';
          }
          isAsking = false;
        }
        function listen() {
          if (events) events.close();
          events = null;
          if (document.hidden) return;
          const mine = events = new EventSource(location.origin + '/events' + location.search);
          mine.addEventListener('change', look);
          mine.addEventListener('alive', look);
          mine.onerror = () => {
            look();
            if (mine === events && mine.readyState === EventSource.CLOSED) setTimeout(listen, 15000);
          };
        }
        document.addEventListener('visibilitychange', () => { look(); listen(); });
        addEventListener('pagehide', () => { if (events) events.close(); });
        addEventListener('pageshow', listen);
        """
}

create or replace function loom._loom_thread_named(p_loom loom.loom, p_thread_id uuid) returns loom.loom_thread
language plpgsql stable
as $$
declare
  v_org text := p_loom.org;
  v_thread loom.loom_thread;
begin
  select * into v_thread from loom.loom_thread where org = v_org and thread_id = p_thread_id;
  if v_thread.loom_id is distinct from p_loom.loom_id then
    raise exception using errcode = 'LM104', message = 'There is no such thread.',
      hint = 'The loom''s threads are listed by looms.thread_list.';
  end if;
  return v_thread;
end
$$;
comment on function loom._loom_thread_named(loom.loom, uuid) is 'A thread of the loom, tombstones included. LM104.';

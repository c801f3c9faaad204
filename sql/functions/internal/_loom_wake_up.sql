create or replace function loom._loom_wake_up(p_caller loom.caller, p_loom loom.loom, p_agent text) returns loom.rendered
language plpgsql stable
as $$
declare
  v_rendered loom.rendered;
begin
  select coalesce(string_agg(loom._loom_thread_rendered(told, null, 'xml'), E'\n' order by told.created_at, told.thread_id), ''),
    to_jsonb(count(*))
  into v_rendered.body, v_rendered.parts
  from loom._loom_threads_told(p_caller, p_loom.loom_id, p_agent) as told;
  if v_rendered.body <> '' then
    v_rendered.body := concat('<loom', ' name="' || loom._xml_attribute(loom._loom_told_name(p_loom)) || '"', E'>\n',
      v_rendered.body, E'\n</loom>');
  end if;
  return v_rendered;
end
$$;
comment on function loom._loom_wake_up(loom.caller, loom.loom, text) is
  'What an agent is told when it wakes up with a loom, and how many threads that are: a pure function of these, with no id, time or counter in it. Empty when there are none.';

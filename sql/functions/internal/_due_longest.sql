create or replace function loom._due_longest(
  p_org text, p_namespace text, p_kind text, p_model_calls boolean, p_at timestamptz
) returns timestamptz
language plpgsql stable
set plan_cache_mode = force_generic_plan
as $$
declare
  v_due_at timestamptz;
begin
  -- Ordered, since a plan that counts on many would else read the table through to find that there is none.
  if p_model_calls then
    select due_at into v_due_at from loom.build
    where org = p_org and namespace = p_namespace and kind = p_kind and due_at <= p_at order by due_at limit 1;
  else
    select due_at into v_due_at from loom.build
    where org = p_org and namespace = p_namespace and kind = p_kind and due_at <= p_at and modelless
    order by due_at limit 1;
  end if;
  return v_due_at;
end
$$;
comment on function loom._due_longest(text, text, text, boolean, timestamptz) is
  'When what is due longest in a namespace fell due, of what needs no model where none may be called; null: nothing is due.';
